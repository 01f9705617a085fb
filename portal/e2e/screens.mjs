// Pictures of every screen, to look at: node e2e/screens.mjs URL FOLDER [PART-OF-A-PATH]
// The service at URL must have demo data. Parameters of a path are filled from the first row of a list.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN, CUSTOMER, launch, settled, signedIn } from '../tools/pictures.mjs';

const [url, folder, part = ''] = process.argv.slice(2);
if (!url || !folder) {
  console.error('usage: node e2e/screens.mjs URL FOLDER [PART-OF-A-PATH]');
  process.exit(2);
}

/** The list whose first row fills the parameter after this beginning of a path. The longest beginning counts. */
const LISTS = {
  '/trunks/': '/trunks',
  '/numbers/': '/numbers',
  '/numbers/orders/': '/numbers/orders',
  '/documents/': '/compliance/intakes',
  '/rates/notices/': '/price-notices',
  '/calls/': '/cdrs',
  '/billing/topups/': '/payments/topups',
  '/billing/invoices/': '/invoices',
  '/support/': '/tickets',
  '/settings/webhooks/': '/webhook-endpoints',
  '/team/calls/': '/admin/cdrs',
  '/team/customers/': '/admin/customers?onboarding_status=approved',
  '/team/waitlist/': '/admin/beta',
  '/team/reviews/kyb/': '/admin/kyb',
  '/team/reviews/documents/': '/admin/compliance/intakes',
  '/team/upstreams/': '/admin/upstreams',
  '/team/upstreams/{id}/imports/': '/admin/upstreams/{id}/imports',
  '/team/upstreams/{id}/statements/': '/admin/upstreams/{id}/statements',
  '/team/plans/': '/admin/rate-plans',
  '/team/disputes/': '/admin/disputes',
  '/team/chargebacks/': '/admin/chargebacks',
  '/team/tickets/': '/admin/tickets',
  '/team/webhooks/': '/admin/webhook-endpoints',
};

const LOOKS = {
  light: { viewport: { width: 1360, height: 860 }, colorScheme: 'light' },
  dark: { viewport: { width: 1360, height: 860 }, colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: 'light', hasTouch: true, isMobile: true },
};

const screens = JSON.parse(readFileSync(new URL('../dist/screens.json', import.meta.url), 'utf8'));
const paths = screens.map((screen) => screen.path ?? screen);

async function idOf(read, list) {
  const page = await read(list);
  const row = (page?.data ?? page?.items ?? page?.rows ?? [])[0];
  return row?.id;
}

/** The path with its parameters, or undefined where there is nothing to show. */
async function filled(read, path) {
  let made = '';
  let pattern = '';
  for (const segment of path.split('/').slice(1)) {
    const list = LISTS[`${pattern}/`];
    if (!segment.startsWith('{')) made += `/${segment}`;
    else if (!list) return undefined;
    else {
      const id = await idOf(read, list.replace('{id}', made.split('/').find((part) => /[0-9a-f]{32}|[0-9a-f-]{36}/.test(part)) ?? ''));
      if (!id) return undefined;
      made += `/${id}`;
    }
    pattern += `/${segment}`;
  }
  return made;
}

const nameOf = (path) => (path === '/' ? 'home' : path.slice(1).replaceAll('/', '-').replaceAll(/[{}]/g, ''));
mkdirSync(folder, { recursive: true });
const browser = await launch();
const problems = [];
for (const [look, options] of Object.entries(LOOKS)) {
  for (const [who, isTheirs] of [
    [CUSTOMER, (path) => !path.startsWith('/team')],
    [ADMIN, (path) => path.startsWith('/team')],
  ]) {
    const wanted = paths.filter((path) => isTheirs(path) && path.includes(part));
    if (wanted.length === 0) continue;
    const { context, page, read } = await signedIn(browser, url, who, options);
    page.on('console', (message) => message.type() === 'error' && problems.push(`${look} ${page.url()}: ${message.text()}`));
    page.on('pageerror', (error) => problems.push(`${look} ${page.url()}: ${error.message}`));
    for (const path of wanted) {
      const address = await filled(read, path);
      if (!address) {
        if (look === 'light') console.log(`nothing to show at ${path}`);
        continue;
      }
      await page.goto(address);
      await settled(page).catch((error) => problems.push(`${look} ${address}: ${error.message.split('\n')[0]}`));
      const isWide = await page.evaluate((width) => document.documentElement.scrollWidth > width, options.viewport.width);
      if (isWide) problems.push(`${look} ${address}: wider than the screen`);
      await page.screenshot({ path: join(folder, `${nameOf(path)}.${look}.png`), fullPage: true });
    }
    await context.close();
  }
}
await browser.close();
for (const problem of new Set(problems)) console.log(problem);
