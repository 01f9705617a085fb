// How fast the portal is in Chromium: node tools/speed.mjs [--write]
// The first visit on a desktop and on a slow phone (a quarter of this processor, 1.6 Mbit/s, 150 ms), the way from a click in the
// menu to a screen with its data on both, and a long list. With --write the figures go into docs/benchmarks.md.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, withDemoService } from './demo_service.mjs';
import { ADMIN, CUSTOMER, launch, signedIn } from './pictures.mjs';

const ROUNDS = 7;
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
const DESKTOP = { viewport: { width: 1360, height: 860 } };
/** Links of the menu, one after the other, each with a table or figures that have to be loaded. */
const WAYS = [
  [CUSTOMER, ['/calls', '/trunks', '/numbers', '/billing', '/support', '/rates']],
  [ADMIN, ['/team/reviews', '/team/customers', '/team/upstreams', '/team/payments', '/team/tickets']],
];

async function slowed(page) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: 4 });
  await devtools.send('Network.emulateNetworkConditions', { offline: false, latency: 150, downloadThroughput: 200_000, uploadThroughput: 100_000 });
}

/** The largest contentful paint, once nothing larger comes for a second. */
const paint = (page) =>
  page.evaluate(
    () =>
      new Promise((resolve) => {
        let timer;
        let last = 0;
        const wait = () => (clearTimeout(timer), (timer = setTimeout(() => resolve(last), 1000)));
        new PerformanceObserver((list) => {
          last = list.getEntries().at(-1)?.startTime ?? last;
          wait();
        }).observe({ type: 'largest-contentful-paint', buffered: true });
        wait();
      }),
  );

async function firstVisit(browser, url, path, device, isSlow) {
  const context = await browser.newContext({ baseURL: url, ...device });
  const page = await context.newPage();
  if (isSlow) await slowed(page);
  await page.goto(path);
  await page.getByRole('heading', { level: 1 }).waitFor();
  const ms = await paint(page);
  await context.close();
  return ms;
}

/** From the click to the frame in which the screen's heading is there and nothing loads any more. */
const change = (page, href) =>
  page.evaluate(
    (href) =>
      new Promise((resolve, reject) => {
        const link = document.querySelector(`nav a[href="${href}"]`);
        if (!link) return reject(new Error(`no link to ${href}`));
        const before = document.querySelector('h1');
        const began = performance.now();
        link.click();
        const look = () => {
          const heading = document.querySelector('h1');
          const isThere = location.pathname === href && heading && heading !== before && !document.querySelector('main [aria-busy="true"], main .bone, main .skeleton');
          if (isThere) return resolve(performance.now() - began);
          if (performance.now() - began > 20_000) return reject(new Error(`${href} did not come`));
          requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
      }),
    href,
  );

/**
 * From the last byte of the answer until the beginning of a list is painted, and all of it. The list is longer here than one
 * page, and its answer waits until the rest of the screen is there, which `change` measures.
 */
async function longList(browser, url, path, length) {
  const { context, page } = await signedIn(browser, url, CUSTOMER, DESKTOP);
  await page.route('**/v1/cdrs?*', async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 1500));
    await route.continue({ url: route.request().url().replace('limit=50', `limit=${length}`) });
  });
  await page.goto('/');
  await page.getByRole('heading', { level: 1 }).waitFor();
  const times = await page.evaluate(
    ([path, length]) =>
      new Promise((resolve, reject) => {
        const began = performance.now();
        document.querySelector(`nav a[href="${path}"]`).click();
        let beginning;
        let seen = 0;
        const look = () => {
          // What the last frame found was painted before this one began.
          const now = performance.now();
          const answer = performance.getEntriesByType('resource').findLast(({ name }) => new URL(name).pathname === '/v1/cdrs');
          if (seen > 0) beginning ??= now - answer.responseEnd;
          if (seen >= length) return resolve({ beginning, whole: now - answer.responseEnd });
          if (now - began > 20_000) return reject(new Error('the list did not come'));
          seen = answer?.responseEnd ? document.querySelectorAll('main tbody tr:not(.waiting)').length : 0;
          requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
      }),
    [path, length],
  );
  await context.close();
  return times;
}

async function changes(browser, url, device, isSlow) {
  const times = [];
  for (const [who, hrefs] of WAYS) {
    const { context, page } = await signedIn(browser, url, who, device);
    if (isSlow) await slowed(page);
    await page.goto('/');
    await page.getByRole('heading', { level: 1 }).waitFor();
    for (const href of hrefs) times.push(await change(page, href));
    await context.close();
  }
  return times;
}

const sorted = (values) => values.toSorted((a, b) => a - b);
const at = (values, share) => sorted(values)[Math.min(values.length - 1, Math.floor(values.length * share))];
const rows = [];
function row(what, values, limit, share = 0.5) {
  const value = at(values, share);
  const ms = (n) => `${Math.round(n)} ms`;
  rows.push({ what, text: `${ms(value)} (${Math.round(at(values, 0))}–${Math.round(at(values, 1))})`, limit: `≤ ${limit} ms`, isMet: value <= limit });
}

await withDemoService({}, async (url) => {
  const browser = await launch();
  await firstVisit(browser, url, '/sign-in', DESKTOP, false);
  const [visits, slowVisits, lists, desktop, phone] = [[], [], [], [], []];
  for (let round = 0; round < ROUNDS; round++) {
    visits.push(await firstVisit(browser, url, '/sign-in', DESKTOP, false));
    slowVisits.push(await firstVisit(browser, url, '/sign-in', PHONE, true));
    lists.push(await longList(browser, url, '/calls', 200));
  }
  row('Largest contentful paint of the sign-in screen, first visit, desktop', visits, 800);
  row('The same, slow phone', slowVisits, 2000);
  row('From the answer to the painted screen of a list of 200 calls, desktop', lists.map(({ beginning }) => beginning), 100);
  row('The same, all 200 rows', lists.map(({ whole }) => whole), 500);
  for (let round = 0; round < ROUNDS; round++) desktop.push(...(await changes(browser, url, DESKTOP, false)));
  for (let round = 0; round < 2; round++) phone.push(...(await changes(browser, url, PHONE, true)));
  row('From a click in the menu to a screen with its data that was never open, desktop, median', desktop, 200);
  row('The same, 95th percentile', desktop, 500, 0.95);
  row('The same on the slow phone, median', phone, 2500);
  await browser.close();
});

const table = ['| Measurement | Time | Limit | Verdict |', '|---|---|---|---|', ...rows.map(({ what, text, limit, isMet }) => `| ${what} | ${text} | ${limit} | ${isMet ? 'met' : '**missed**'} |`)].join('\n');
console.log(table);
if (process.argv.includes('--write')) {
  const page = join(root, 'docs/benchmarks.md');
  const section = `## Portal

Written by \`make portal-speed\` on ${new Date().toISOString().slice(0, 10)}, Chromium and the service on the same machine, demo data of three months on
SQLite. A cell is the median, with the minimum and maximum in brackets. The slow phone has a quarter of a core, 1.6 Mbit/s
and 150 ms.

${table}

`;
  const text = readFileSync(page, 'utf8').replace(/^## Portal\n[\s\S]*?(?=^## )/m, '');
  writeFileSync(page, text.replace(/^## Build times$/m, `${section}## Build times`));
}
process.exitCode = rows.every(({ isMet }) => isMet) ? 0 : 1;
