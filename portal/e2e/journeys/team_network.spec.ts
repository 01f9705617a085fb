import { CSV as csv } from '../files';
import { apiAs, expect, expectAccessible, people, signInAs, test, type Page } from '../world';

// A dispatcher group that another upstream has.
test.use({ expectedErrors: [/status of 409/] });

const HEADER = 'prefix,destination_name,country,rate_per_minute,billing_increment_seconds,minimum_seconds';

async function firstUpstream(request: Parameters<typeof apiAs>[0]) {
  const admin = await apiAs(request, people.admin);
  const { data } = await admin.get('/admin/upstreams');
  return { admin, upstream: data[0] as { id: string; name: string; markup_percent: number } };
}

const drop = (page: Page, label: RegExp, file: ReturnType<typeof csv>) => page.getByLabel(label).setInputFiles(file);

test('an upstream is created, its deck is tried, corrected and applied, and calls are routed to it @postgres', async ({ page }) => {
  await signInAs(page, people.admin, '/team/upstreams');
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Create upstream' }).click();
  const form = page.getByRole('dialog', { name: 'Create upstream' });
  await form.getByLabel('Name').fill('Nordic Transit');
  await form.getByLabel('Dispatcher group').fill('10');
  await form.getByLabel('Gateways').fill('sip:203.0.113.40:5060');
  await form.getByLabel('Signalling IPs').fill('203.0.113.40');
  await expectAccessible(page);
  await form.getByRole('button', { name: 'Create upstream' }).click();
  // Another upstream has this dispatcher group.
  await expect(form.getByRole('alert').first()).toBeVisible();
  await form.getByLabel('Dispatcher group').fill('40');
  await form.getByRole('button', { name: 'Create upstream' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Nordic Transit' })).toBeVisible();
  const address = page.url();

  // A file with errors: they are listed by line, and nothing can be tried or applied.
  await drop(page, /Rate deck/, csv('faulty.csv', HEADER, '46,Sweden,SE,0.0001,1,1', '468,Sweden,SE,cheap,1,1', '4670,,SE,0.01,1,1'));
  await expect(page.getByText('The file has our own header, so it needs no mapping.')).toBeVisible();
  await expect(page.getByText('2 errors in the file')).toBeVisible();
  const faults = page.getByRole('region', { name: 'Errors by line' });
  await expect(faults.getByRole('row').nth(1)).toContainText('rate_per_minute');
  const tryIt = page.getByRole('button', { name: 'Start dry run' });
  await expect(tryIt).toHaveAttribute('aria-disabled', 'true');
  await expect(tryIt).toHaveAccessibleDescription('Correct the file or its mapping first.');
  await expect(page.getByRole('button', { name: 'Apply deck' })).toBeHidden();
  await expectAccessible(page);

  // The corrected file: its impact first, then it is applied.
  await page.getByRole('button', { name: 'Choose another file' }).click();
  await drop(page, /Rate deck/, csv('nordic.csv', HEADER, '46,Sweden,SE,0.0001,1,1', '468,Sweden,SE,0.0001,1,1'));
  await expect(page.getByRole('region', { name: 'Rates as they would be imported' }).getByRole('row').nth(2)).toContainText('468');
  await page.getByRole('button', { name: 'Start dry run' }).click();
  await expect(page.getByText('The file has no errors. This is what it would change:')).toBeVisible();
  await page.getByRole('button', { name: 'Apply deck' }).click();
  const question = page.getByRole('dialog', { name: 'Apply this deck to Nordic Transit?' });
  await expect(question).toContainText('2 prefixes get a rate, 0 lose theirs');
  await question.getByRole('button', { name: 'Apply deck' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Rate deck import' })).toBeVisible();
  await expect(page.getByText('Completed').first()).toBeVisible();
  await expectAccessible(page);

  await page.goto(address);
  const history = page.getByRole('region', { name: 'Imports, newest first' });
  await expect(history.getByRole('row')).toHaveCount(3);
  await page.getByRole('link', { name: 'See its rates' }).click();
  await expect(page.getByRole('region', { name: 'Upstream rates' })).toContainText('468');

  await page.goto('/team/routes?number=%2B46812345678');
  const first = page.getByRole('region', { name: 'Upstreams, cheapest first' }).getByRole('row').nth(1);
  await expect(first).toContainText('Nordic Transit');
  await expect(first).toContainText('The cheapest route');
});

test('a spreadsheet of numbers and a file without required columns are told apart before they are sent', async ({ page }) => {
  await signInAs(page, people.admin, '/team/stock?import=1');
  const form = page.getByRole('dialog', { name: 'Import numbers' });
  await drop(page, /Numbers \(CSV\)/, { name: 'numbers.xlsx', mimeType: 'application/octet-stream', buffer: Buffer.from('PK') });
  await expect(form.getByText('This is a spreadsheet.')).toBeVisible();
  await form.getByRole('button', { name: 'Choose another file' }).click();
  await drop(page, /Numbers \(CSV\)/, csv('short.csv', 'e164;country;type', '+46812300001;SE;local'));
  await expect(form.getByText('The file lacks the required columns prefix, monthly.')).toBeVisible();
  await expect(form.getByRole('region', { name: 'Columns of the file' })).toContainText('country');
});

test('a change that meets a newer version shows both', async ({ page, request }) => {
  const { admin, upstream } = await firstUpstream(request);
  await signInAs(page, people.admin, `/team/upstreams/${upstream.id}`);
  await page.getByRole('button', { name: 'Edit' }).click();
  const form = page.getByRole('dialog', { name: upstream.name });
  await form.getByLabel('Markup (%)').fill('31');
  await expect(form.getByText(/Sell rates that come from this upstream change at once/)).toBeVisible();
  await admin.patch(`/admin/upstreams/${upstream.id}`, { markup_percent: 27 });
  await form.getByRole('button', { name: 'Save changes' }).click();
  await expect(form.getByText('Somebody else changed this meanwhile')).toBeVisible();
  await expect(form.getByRole('row', { name: /Markup/ })).toContainText('31');
  await expect(form.getByRole('row', { name: /Markup/ })).toContainText('27');
  await expectAccessible(page);
  await form.getByRole('button', { name: 'Overwrite with mine' }).click();
  await form.getByRole('button', { name: 'Save changes' }).click();
  await expect(form).toBeHidden();
  expect((await admin.get(`/admin/upstreams/${upstream.id}`)).markup_percent).toBe(31);
  await admin.patch(`/admin/upstreams/${upstream.id}`, { markup_percent: upstream.markup_percent });
});

test('a disabled upstream drops out of the routes, with the reason', async ({ page, request }) => {
  const { upstream } = await firstUpstream(request);
  await signInAs(page, people.admin, `/team/upstreams/${upstream.id}`);
  await expect(page.getByRole('button', { name: 'Delete' })).toHaveAttribute('aria-disabled', 'true');
  await page.getByRole('button', { name: 'Disable' }).click();
  const question = page.getByRole('dialog', { name: `Disable ${upstream.name}?` });
  await expect(question).toContainText('its rates no longer make sell rates');
  await question.getByRole('button', { name: 'Disable' }).click();
  await expect(page.getByRole('button', { name: 'Enable' })).toBeVisible();
  await page.goto('/team/routes?number=%2B31612345678');
  const row = page.getByRole('row', { name: new RegExp(upstream.name) });
  await expect(row).toContainText('Dropped');
  await expect(row).toContainText('The upstream is disabled.');
  await expectAccessible(page);
  await page.goto(`/team/upstreams/${upstream.id}`);
  await page.getByRole('button', { name: 'Enable' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Enable' }).click();
  await expect(page.getByRole('button', { name: 'Disable' })).toBeVisible();
});

test('rates are found by upstream, prefix and destination, and the address keeps it', async ({ page }) => {
  await signInAs(page, people.admin, '/team/rates');
  await page.getByLabel('Prefix begins with').fill('316');
  await page.getByLabel('Upstream', { exact: true }).selectOption({ label: 'Baltic Transit' });
  await expect(page).toHaveURL(/prefix=316/);
  const table = page.getByRole('region', { name: 'Upstream rates' });
  await expect(table.getByRole('row').nth(1)).toContainText('Netherlands mobile');
  await page.reload();
  await expect(page.getByLabel('Prefix begins with')).toHaveValue('316');
  await page.getByLabel('Destination contains').fill('Nowhere');
  await expect(page.getByText('No rate matches')).toBeVisible();
  await page.goto('/team/routes');
  await expect(page.getByText('No number yet')).toBeVisible();
  await page.getByLabel('Number', { exact: true }).fill('+999 12');
  await expect(page.getByText('This number is not sold')).toBeVisible();
});

test('numbers are imported, withdrawn and offered again', async ({ page, request }) => {
  const { upstream } = await firstUpstream(request);
  await signInAs(page, people.admin, '/team/stock?prefix=3120808010');
  await expect(page.getByRole('region', { name: 'Number inventory' }).getByRole('row')).toHaveCount(11);
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Import numbers' }).click();
  const form = page.getByRole('dialog', { name: 'Import numbers' });
  await form.getByLabel('Upstream that the numbers come from').selectOption({ label: upstream.name });
  const header = 'e164,country,type,area_name,prefix,monthly,setup';
  await drop(page, /Numbers \(CSV\)/, csv('bad.csv', header, '+46812300001,SE,local,Stockholm,468,1.501,0'));
  await form.getByRole('button', { name: 'Start import' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Inventory import' })).toBeVisible();
  await expect(page.getByText('1 error in the file')).toBeVisible();
  await expectAccessible(page);

  await page.goto('/team/stock?import=1');
  await form.getByLabel('Upstream that the numbers come from').selectOption({ label: upstream.name });
  await drop(page, /Numbers \(CSV\)/, csv('good.csv', header, '+46812300001,SE,local,Stockholm,468,1.50,0', '+46812300002,SE,local,Stockholm,468,1.50,0'));
  await form.getByRole('button', { name: 'Start import' }).click();
  await expect(page.getByText('Numbers new to the inventory')).toBeVisible();

  await page.goto('/team/stock?prefix=4681230000');
  await page.getByRole('button', { name: 'Open' }).first().click();
  const number = page.getByRole('dialog');
  await number.getByLabel('Withdrawn').check();
  await number.getByLabel('Documents rule').selectOption({ label: 'Required' });
  await number.getByRole('button', { name: 'Save changes' }).click();
  await expect(number).toBeHidden();
  await expect(page.getByRole('region', { name: 'Number inventory' }).getByRole('row').nth(1)).toContainText('Withdrawn');
  // Opened again, it begins with what was saved.
  await page.getByRole('button', { name: 'Open' }).first().click();
  await expect(number.getByLabel('Withdrawn')).toBeChecked();
  await expect(number.getByLabel('Documents rule')).toHaveValue('docs_required');
});

test('exchange rates are set for a day, and a large change is pointed out', async ({ page }) => {
  await signInAs(page, people.admin, '/team/fx');
  await expect(page.getByRole('heading', { name: 'Earlier days' })).toBeVisible();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Set rates' }).click();
  const form = page.getByRole('dialog', { name: 'Set exchange rates of a day' });
  await form.getByLabel('1 EUR in USD').fill('2.1');
  await expect(form.getByText(/Large change: USD/)).toBeVisible();
  await form.getByLabel('1 EUR in USD').fill('1.0912');
  await form.getByLabel('Currency code').fill('sek');
  await form.getByRole('button', { name: 'Add currency' }).click();
  await form.getByLabel('1 EUR in SEK').fill('11.2045');
  await form.getByRole('button', { name: 'Set rates' }).click();
  await expect(form).toBeHidden();
  await expect(page.getByRole('row', { name: /^SEK/ })).toContainText('11.2045');
  // Whichever day is looked at, new rates begin with the newest.
  const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
  await page.goto(`/team/fx?date=${yesterday}`);
  await expect(page.getByRole('row', { name: /^USD/ })).toBeVisible();
  await expect(page.getByRole('row', { name: /^SEK/ })).toBeHidden();
  await page.getByRole('button', { name: 'Set rates' }).click();
  await expect(form.getByLabel('1 EUR in SEK')).toHaveValue('11.2045');
});

test('the network on a phone @phone', async ({ page, request }) => {
  test.slow();
  const { upstream } = await firstUpstream(request);
  await signInAs(page, people.admin, '/team/upstreams');
  await expectAccessible(page);
  for (const path of [`/team/upstreams/${upstream.id}`, '/team/routes?number=%2B31612345678', '/team/stock?prefix=3120808010', '/team/fx']) {
    await page.goto(path);
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    await expectAccessible(page);
  }
});
