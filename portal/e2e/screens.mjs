// Pictures of every screen, to look at: node e2e/screens.mjs URL FOLDER [PART-OF-A-PATH]
// The service at URL must have demo data. Parameters of a path are filled from the first row of a list that has what the
// path asks for.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN, CUSTOMER, launch, settled, signedIn } from '../tools/pictures.mjs';

const [url, folder, part = ''] = process.argv.slice(2);
if (!url || !folder) {
  console.error('usage: node e2e/screens.mjs URL FOLDER [PART-OF-A-PATH]');
  process.exit(2);
}

/** The list whose rows fill the parameter after this beginning of a path, `{id}` being that of its parent. */
const LISTS = {
  '/checkout/': '/admin/payments',
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
  '/team/customers/': `/admin/customers?q=${encodeURIComponent(CUSTOMER)}`,
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
  // Inventory imports have no list; the audit log names them.
  '/team/stock/imports/': '/admin/audit-log?action=did_inventory.import',
};
/** What a row fills in where that is not its id. */
const VALUES = {
  '/checkout/': (row) => row.provider_order_id,
  '/team/stock/imports/': (row) => JSON.parse(row.meta ?? '{}').import_id,
};

const LOOKS = {
  light: { viewport: { width: 1360, height: 860 }, colorScheme: 'light' },
  dark: { viewport: { width: 1360, height: 860 }, colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: 'light', hasTouch: true, isMobile: true },
};

const screens = JSON.parse(readFileSync(new URL('../dist/screens.json', import.meta.url), 'utf8'));
const paths = screens.map((screen) => screen.path ?? screen);

/** The path with its parameters, or undefined where there is nothing to show: tries each row of a list in turn. */
async function filled(read, segments, at = 0, made = '', parent = '') {
  if (at === segments.length) return made;
  const segment = segments[at];
  if (!segment.startsWith('{')) return filled(read, segments, at + 1, `${made}/${segment}`, parent);
  const beginning = `/${segments.slice(0, at).join('/')}/`;
  const page = LISTS[beginning] && (await read(LISTS[beginning].replace('{id}', parent)));
  for (const row of page?.data ?? page?.items ?? page?.rows ?? []) {
    const value = VALUES[beginning] ? VALUES[beginning](row) : row.id;
    const found = value && (await filled(read, segments, at + 1, `${made}/${value}`, value));
    if (found) return found;
  }
  return undefined;
}

const nameOf = (path) => (path === '/' ? 'home' : path.slice(1).replaceAll('/', '-').replaceAll(/[{}]/g, ''));
mkdirSync(folder, { recursive: true });
const browser = await launch();
const problems = [];
for (const [look, options] of Object.entries(LOOKS)) {
  const customer = await signedIn(browser, url, CUSTOMER, options);
  const team = await signedIn(browser, url, ADMIN, options);
  const read = (path) => (path.startsWith('/admin/') ? team : customer).read(path);
  for (const [{ page }, isTheirs] of [
    [customer, (path) => !path.startsWith('/team')],
    [team, (path) => path.startsWith('/team')],
  ]) {
    page.on('console', (message) => message.type() === 'error' && problems.push(`${look} ${page.url()}: ${message.text()}`));
    page.on('pageerror', (error) => problems.push(`${look} ${page.url()}: ${error.message}`));
    for (const path of paths.filter((path) => isTheirs(path) && path.includes(part))) {
      const address = await filled(read, path.split('/').slice(1));
      if (!address) {
        if (look === 'light') console.log(`nothing to show at ${path}`);
        continue;
      }
      await page.goto(address);
      await settled(page).catch((error) => problems.push(`${look} ${address}: ${error.message.split('\n')[0]}`));
      const seen = await page.evaluate(() => ({
        width: document.documentElement.scrollWidth,
        isLoading: document.querySelector('.bone, .skeleton') !== null,
      }));
      if (seen.width > options.viewport.width) problems.push(`${look} ${address}: wider than the screen`);
      if (seen.isLoading) problems.push(`${look} ${address}: still loading in its picture`);
      await page.screenshot({ path: join(folder, `${nameOf(path)}.${look}.png`), fullPage: true });
    }
  }
  await customer.context.close();
  await team.context.close();
}
await browser.close();
for (const problem of new Set(problems)) console.log(problem);
