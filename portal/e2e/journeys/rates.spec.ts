// Prices: of a number, of all prefixes, how they changed, and what was said of it.
import { readFileSync } from 'node:fs';
import { apiAs, expect, expectAccessible, people, priceNotice, signInAs, test } from '../world';

// A number that is not sold.
test.use({ expectedErrors: [/status of 404/] });

test('a number shows its price as it is typed @phone @dark', async ({ page, request }) => {
  const customer = await apiAs(request, people.live);
  const rate = await customer.get('/rates/lookup?number=31201234567');
  await signInAs(page, people.live, '/rates?prefix=3120');
  await page.getByLabel('Number', { exact: true }).fill('+31 20 123 4567');
  const card = page.getByRole('region', { name: 'Price of a number' });
  await expect(card).toContainText(`€${rate.rate_per_minute.amount}`);
  await expect(card).toContainText(`+${rate.prefix}`);
  await expect(card).toContainText('1 minute');
  await expect(page).toHaveURL(/number=%2B31/);
  await expectAccessible(page);
  await page.getByLabel('Number', { exact: true }).fill('+999 123');
  await expect(card).toContainText('Calls to this number are not sold');
  await page.getByLabel('Number', { exact: true }).fill('twelve');
  await expect(card).toContainText('Type at most 15 digits');
});

test('rates are filtered by name, prefix and country, and exported', async ({ page }) => {
  await signInAs(page, people.live, '/rates');
  await page.getByLabel('Destination contains').fill('mobile');
  await page.getByLabel('Country').selectOption('Belgium');
  const list = page.getByRole('region', { name: 'Rates by prefix' });
  await expect(list.getByRole('row').nth(1)).toContainText('Belgium mobile');
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export all rates (CSV)' }).click();
  const file = await download;
  expect(file.suggestedFilename()).toMatch(/^rates-.*\.csv$/);
  expect(readFileSync(await file.path(), 'utf8')).toContain('rate_per_minute');
});

test('a price notice shows each price, what it means for the calls, and its files @phone @dark', async ({ page, request }) => {
  const { id } = await priceNotice(await apiAs(request, people.admin), -8);
  await signInAs(page, people.live, '/rates/notices');
  const first = page.getByRole('region', { name: 'Price notices' }).getByRole('row').nth(1);
  await expect(first.getByRole('link', { name: 'Open' })).toHaveAttribute('href', `/rates/notices/${id}`);
  await expectAccessible(page);
  await first.getByRole('link', { name: 'Open' }).click();
  await expect(page.getByRole('heading', { level: 1, name: /^Price notice of \d/ })).toBeVisible();
  const change = page.getByRole('region', { name: 'Changed rates' }).getByRole('row').nth(1);
  await expect(change).toContainText('Decreased');
  await expect(change).toContainText('Germany mobile');
  await expect(page.getByRole('region', { name: 'What this means for your last 30 days' })).toContainText(/At the new prices\s*€/);
  await expectAccessible(page);
  for (const format of ['csv', 'xlsx']) {
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: `Download ${format.toUpperCase()}` }).click();
    expect((await download).suggestedFilename()).toMatch(new RegExp(`^price-changes-[\\d-]+\\.${format}$`));
  }
});

test('an account without price notices is told so, and an address of none leads nowhere', async ({ page }) => {
  await signInAs(page, people.waiting, '/rates/notices');
  await expect(page.getByText('No price notices yet')).toBeVisible();
  await expectAccessible(page);
  await page.goto(`/rates/notices/${crypto.randomUUID()}`);
  await expect(page.getByRole('alert')).toContainText('not found');
});

test('two moments are compared in words and colour', async ({ page, request }) => {
  const admin = await apiAs(request, people.admin);
  const upstreams: { id: string; markup_percent: number }[] = (await admin.get('/admin/upstreams')).data;
  for (const upstream of upstreams) {
    await admin.patch(`/admin/upstreams/${upstream.id}`, { markup_percent: upstream.markup_percent + 10 });
  }
  const from = new Date(Date.now() - 60_000).toISOString();
  await signInAs(page, people.live, `/rates/changes?from=${from}&to=${new Date(Date.now() + 1000).toISOString()}`);
  const first = page.getByRole('region', { name: 'Changed rates' }).getByRole('row').nth(1);
  await expect(first).toContainText('Increased');
  await expect(first).toContainText(/\+\d/);
  await expect(page.getByText(/^The first 100 changes: 100 increased, 0 decreased/)).toBeVisible();
  await page.getByRole('button', { name: 'Next 30 days' }).click();
  await expect.poll(() => Date.parse(new URL(page.url()).searchParams.get('to') ?? '')).toBeGreaterThan(Date.now() + 29 * 86_400_000);
  const at = new Date().toISOString();
  await page.goto(`/rates/changes?from=${at}&to=${at}`);
  await expect(page.getByText('No changes')).toBeVisible();
  await expectAccessible(page);
});
