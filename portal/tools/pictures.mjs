// What scripts share that look at the portal: a browser, a signed-in page, and a page that has come to rest.
import { chromium } from '@playwright/test';

export const PASSWORD = 'correct horse battery staple';
export const CUSTOMER = 'katja@kanaal.example';
export const ADMIN = 'ada@carrier.example';

export const launch = () =>
  chromium.launch({ executablePath: process.env.TRUNKLINE_E2E_BROWSER ?? '/usr/bin/chromium', args: ['--no-sandbox'] });

/** A page of somebody who is signed in, and a function that reads the API as they would. */
export async function signedIn(browser, url, email, options) {
  const context = await browser.newContext({ baseURL: url, locale: 'en-GB', timezoneId: 'Europe/Amsterdam', ...options });
  const reply = await context.request.post('/v1/auth/sign-in', { data: { email, password: PASSWORD } });
  if (!reply.ok()) throw new Error(`sign-in of ${email}: ${reply.status()} ${await reply.text()}`);
  const { access_token, refresh_token } = await reply.json();
  const stored = await context.request.post('/v1/auth/cookie', { data: { refresh_token }, headers: { Origin: url } });
  if (!stored.ok()) throw new Error(`session of ${email}: ${stored.status()} ${await stored.text()}`);
  await context.addInitScript(() => localStorage.setItem('trunkline.signed-in', '1'));
  const read = async (path) => {
    const response = await context.request.get(`/v1${path}`, { headers: { Authorization: `Bearer ${access_token}` } });
    return response.ok() ? response.json() : undefined;
  };
  return { context, page: await context.newPage(), read };
}

/** Waits until there is a heading, nothing loads, and charts are drawn. */
export async function settled(page) {
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  await page.waitForFunction(() => !document.querySelector('[aria-busy="true"], .bone, .skeleton'), undefined, { timeout: 8000 }).catch(() => {});
  await page.waitForTimeout(500);
}
