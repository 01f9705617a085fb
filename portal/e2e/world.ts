// What journeys share: a service with people in it, and what must hold on every screen.
import { AxeBuilder } from '@axe-core/playwright';
import { test as base, expect, type APIRequestContext, type APIResponse, type Page } from '@playwright/test';
import { copyData, emptyData, Service, type Data, type Settings } from './service';

export { expect };
export type { Page };

/** The password of all users of the demo. */
export const PASSWORD = 'correct horse battery staple';
/** People of the demo. */
export const people = {
  admin: 'ada@carrier.example',
  support: 'sam@carrier.example',
  live: 'katja@kanaal.example',
  german: 'ruth@rheinruf.example',
  suspended: 'quinn@quickdial.example',
  approved: 'lola@lagoslink.example',
  underReview: 'aline@alpenfon.example',
  rejected: 'wanda@wawel.example',
  waiting: 'frida@fjorddesk.example',
  signedUp: 'ariadne@attica.example',
} as const;

type Options = {
  /** What the service begins with. `test.use({ data: 'empty' })` for a file that begins before the first admin. */
  data: 'demo' | 'empty';
  /** Settings besides those of a lab, such as `{ TRUNKLINE_TEST_CLOCK: 'on' }`. */
  settings: Settings;
  /** Console errors that a journey provokes. Refusals that screens handle (401, 403, 412, 422, 429) need not be named. */
  expectedErrors: RegExp[];
};
type Services = { of: (file: string, data: Options['data'], settings: Settings) => Promise<Service> };

const HANDLED = /the server responded with a status of (401|403|412|422|429)/;

export const test = base.extend<Options & { service: Service; console: void }, { services: Services }>({
  data: ['demo', { option: true }],
  settings: [{}, { option: true }],
  expectedErrors: [[], { option: true }],

  // One service for each file of journeys, so that files do not see what others did.
  services: [
    async ({}, use) => {
      let running: { key: string; service: Service } | undefined;
      await use({
        async of(file, data, settings) {
          const key = JSON.stringify([file, data, settings]);
          if (running?.key === key) return running.service;
          await running?.service.end();
          running = undefined;
          const filled = JSON.parse(process.env.TRUNKLINE_E2E_DATA ?? '{}') as Data;
          const service = await Service.start(data === 'demo' ? copyData(filled) : emptyData(), settings);
          running = { key, service };
          return service;
        },
      });
      await running?.service.end();
    },
    { scope: 'worker', timeout: 60_000 },
  ],
  service: async ({ services, data, settings }, use, info) => use(await services.of(info.file, data, settings)),
  baseURL: async ({ service }, use) => use(service.url),

  console: [
    async ({ page, expectedErrors }, use) => {
      const errors: string[] = [];
      page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
      page.on('pageerror', (error) => errors.push(`${error.message}\n${error.stack ?? ''}`));
      await use();
      const unexpected = errors.filter((text) => ![HANDLED, ...expectedErrors].some((pattern) => pattern.test(text)));
      expect(unexpected, 'errors in the console').toEqual([]);
    },
    { auto: true },
  ],
});

/** Signs in without the sign-in screen, which has journeys of its own, then opens a screen. */
export async function signInAs(page: Page, email: string, path = '/', password = PASSWORD): Promise<void> {
  const signedIn = await page.request.post('/v1/auth/sign-in', { data: { email, password } });
  expect(signedIn.ok(), `sign-in of ${email}`).toBe(true);
  await openWith(page, signedIn, path);
}

/** Signs in with the link of the newest mail to this address, such as that of an invitation. */
export async function signInByLink(page: Page, service: Service, email: string, path = '/'): Promise<void> {
  const token = /magic-link#token=([\w-]+)/.exec(await service.mail(email, 'magic-link'))?.[1];
  await openWith(page, await page.request.post('/v1/auth/magic-link/redeem', { data: { token } }), path);
}

/** Keeps the session of these tokens as the portal does, in place of any other. */
async function openWith(page: Page, tokens: APIResponse, path: string): Promise<void> {
  const { refresh_token } = await tokens.json();
  const origin = new URL(tokens.url()).origin;
  const stored = await page.request.post('/v1/auth/cookie', { data: { refresh_token }, headers: { Origin: origin } });
  expect(stored.ok(), 'session').toBe(true);
  await page.addInitScript(() => localStorage.setItem('trunkline.signed-in', '1'));
  await page.goto(path);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
}

/** What a program would do: calls of the API as this user, beside the browser. */
export async function apiAs(request: APIRequestContext, email: string, password = PASSWORD) {
  const { access_token } = await (await request.post('/v1/auth/sign-in', { data: { email, password } })).json();
  const headers = { Authorization: `Bearer ${access_token}` };
  const call = async (method: 'get' | 'post' | 'put' | 'patch' | 'delete', path: string, data?: unknown) => {
    const response = await request[method](`/v1${path}`, { data, headers: { ...headers, 'Idempotency-Key': crypto.randomUUID() } });
    if (!response.ok()) throw new Error(`${method} ${path}: ${response.status()} ${await response.text()}`);
    return response.status() === 204 ? undefined : await response.json();
  };
  return {
    get: (path: string) => call('get', path),
    post: (path: string, data?: unknown) => call('post', path, data ?? {}),
    put: (path: string, data: unknown) => call('put', path, data),
    patch: (path: string, data: unknown) => call('patch', path, data),
    delete: (path: string) => call('delete', path),
  };
}

/** Makes calls to mobile phones in Germany cheaper for Kanaal (`people.live`); returns the notice of it, as the team sees it. */
export async function priceNotice(admin: Awaited<ReturnType<typeof apiAs>>, markup_pct: number) {
  const plan = (await admin.get('/admin/rate-plans')).data.find(({ name }: { name: string }) => name === 'Benelux volume');
  const rules = [
    { match: { country: 'NL' }, markup_pct: -9 },
    { match: { country: 'BE' }, markup_pct: -6 },
    { match: { destination_name: 'Germany mobile' }, markup_pct },
    { match: { prefix: '3188' }, rate_per_minute: { amount: '0.0075', currency: 'EUR' } },
  ];
  const [{ id }] = (await admin.get('/admin/customers?q=Kanaal')).data;
  const newest = async () => (await admin.get(`/admin/price-notices?customer_id=${id}&limit=1`)).data[0];
  const last = await newest();
  await admin.patch(`/admin/rate-plans/${plan.id}`, { rules });
  await expect.poll(async () => (await newest())?.id, { timeout: 20_000 }).not.toBe(last?.id);
  return newest();
}

/** WCAG 2.2 AA as far as a program can tell, and nothing wider than the screen. */
export async function expectAccessible(page: Page): Promise<void> {
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
  const { violations } = await new AxeBuilder({ page }).withTags(tags).analyze();
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(' | ')}`);
  expect(found, 'axe').toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'nothing is wider than the screen').toBe(true);
}
