// Rate sheets as upstreams send them: read by a mapping, tried, held, weighed by calls, and decided about.
import { CSV, XLSX, type Upload } from '../files';
import { apiAs, expect, expectAccessible, people, signInAs, signInByLink, test, type Page } from '../world';

// No mapping is saved yet; somebody else has decided.
test.use({ expectedErrors: [/status of (404|409)/] });

const NAME = 'Baltic Transit';
const AREAS = ['10', '20', '30', '40', '50', '70', '88'];

/** All fixed lines of the Netherlands at one rate, with titles above the header and several prefixes in a cell. */
const dutch = (rate: number) =>
  XLSX('rates.xlsx', {
    Conditions: [['All prices without VAT']],
    Rates: [
      [`${NAME}, rates in EUR`],
      [],
      ['Destination', 'Dial Code', 'Rate (EUR/min)', 'Billing Increment', 'Effective Date'],
      ['Netherlands', '31', rate, '1/1', '31/01/2026'],
      ...AREAS.map((area) => ['Netherlands', `31${area}; 31${area}0-31${area}9`, rate, '1/1', '31/01/2026']),
    ],
  });

async function baltic(request: Parameters<typeof apiAs>[0]) {
  const admin = await apiAs(request, people.admin);
  const upstreams: { id: string; name: string }[] = (await admin.get('/admin/upstreams')).data;
  const id = upstreams.find(({ name }) => name === NAME)?.id ?? '';
  return { admin, id, path: `/team/upstreams/${id}` };
}

const drop = (page: Page, file: Upload) => page.getByLabel(/Rate deck/).setInputFiles(file);
const read = (page: Page) => page.getByRole('region', { name: 'How the file is read' });

/** From a file that is read without errors to the screen of its import. */
async function apply(page: Page, file: Upload) {
  await page.getByLabel('Stay').check();
  await drop(page, file);
  await page.getByRole('button', { name: 'Start dry run' }).click();
  await page.getByRole('button', { name: 'Apply deck' }).click();
  await page.getByRole('dialog', { name: `Apply this deck to ${NAME}?` }).getByRole('button', { name: 'Apply deck' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Rate deck import' })).toBeVisible();
}

test('a workbook is mapped, previewed, held, weighed by calls and applied @phone @dark @postgres', async ({ page, request }) => {
  test.slow();
  const { admin, id, path } = await baltic(request);
  await admin.put(`/admin/upstreams/${id}/hold-policy`, {});
  const waiting = (await admin.get('/admin/inbox')).held_imports;
  await signInAs(page, people.admin, path);
  await expect(page.getByText('None: what has no errors is applied')).toBeVisible();
  await page.getByRole('button', { name: 'Hold policy' }).click();
  const policy = page.getByRole('dialog', { name: 'Hold policy' });
  await policy.getByLabel('Rise of a rate, more than (%)').fill('50');
  await policy.getByLabel('Destinations fall below cost').check();
  await expectAccessible(page);
  await policy.getByRole('button', { name: 'Save hold policy' }).click();
  await expect(page.getByText('with a rate that rises by more than 50%')).toBeVisible();
  await expect(page.getByText('by which destinations would fall below cost')).toBeVisible();

  // The header suggests a mapping, which can be corrected before it is saved.
  await page.getByLabel('Stay').check();
  await drop(page, dutch(0.5));
  await expect(read(page).getByText('The columns were recognized by their headers.')).toBeVisible();
  await expect(read(page).getByText('Conditions, Rates')).toBeVisible();
  const rates = page.getByRole('region', { name: 'Rates as they would be imported' });
  await expect(rates.getByRole('row')).toHaveCount(21);
  await expect(rates.getByRole('row').nth(1)).toContainText('€0.50');
  await expect(rates.getByRole('row').nth(1)).toContainText('31 Jan 2026');
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Edit mapping' }).click();
  await expect(page.getByLabel('Header of prefixes')).toHaveValue('Dial Code');
  await expect(page.getByLabel('Between prefixes in a cell')).toHaveValue(';');
  await page.getByLabel('Date format').fill('DD/MM/YY');
  await page.getByRole('button', { name: 'Preview again' }).click();
  await expect(page.getByLabel('Date format')).toHaveAttribute('aria-invalid', 'true');
  await page.getByLabel('Date format').fill('DD/MM/YYYY');
  await page.getByLabel('Header of rates per minute').fill('Price');
  await page.getByRole('button', { name: 'Preview again' }).click();
  await expect(read(page).getByText('No row of the file has the headers that are needed.')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Start dry run' })).toHaveAttribute('aria-disabled', 'true');
  await page.getByLabel('Header of rates per minute').fill('rate (eur/min)');
  await page.getByRole('button', { name: 'Preview again' }).click();
  await expect(read(page).getByText('The file is read by your mapping, which is not saved.')).toBeVisible();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Save mapping' }).click();
  const question = page.getByRole('dialog', { name: `Save this mapping for ${NAME}?` });
  await question.getByRole('button', { name: 'Save mapping' }).click();
  await expect(read(page).getByText('The file is read by the saved sheet mapping.')).toBeVisible();

  // The dry run says what it would do to calls, and the import is held.
  await page.getByRole('button', { name: 'Start dry run' }).click();
  await expect(page.getByText('The file has no errors. This is what it would change:')).toBeVisible();
  await expect(page.getByRole('heading', { name: 'Impact on calls' })).toBeVisible();
  await page.getByRole('button', { name: 'Apply deck' }).click();
  await page.getByRole('dialog', { name: `Apply this deck to ${NAME}?` }).getByRole('button', { name: 'Apply deck' }).click();
  await expect(page.getByText('This import waits for a decision')).toBeVisible();
  await expect(page.getByText('A rate rises by more than the hold policy allows.')).toBeVisible();
  const destination = page.getByRole('region', { name: 'Destinations by what they cost' }).getByRole('row').nth(1);
  await expect(destination).toContainText('Netherlands');
  await expect(destination).toContainText('Below cost');
  await expect(destination).toContainText('-€');
  await expect(page.getByRole('region', { name: 'Customers by their loss' }).getByRole('row').nth(1)).toContainText('-€');
  await expectAccessible(page);

  // It is counted on the first screen and found from there.
  await page.goto('/team');
  await page.getByRole('link', { name: new RegExp(`^Held rate decks\\s*${waiting + 1}`) }).click();
  await expect(page.getByText(/imports? waits? for a decision/)).toBeVisible();
  await expectAccessible(page);
  await page.getByRole('paragraph').getByRole('link', { name: NAME }).first().click();
  await page.getByRole('button', { name: 'Apply deck' }).click();
  const decision = page.getByRole('dialog', { name: `Apply this deck to ${NAME}?` });
  await expect(decision).toContainText('0 lose theirs, 78 become more expensive');
  await decision.getByRole('button', { name: 'Apply deck' }).click();
  await expect(page.getByText('Completed').first()).toBeVisible();
  await expect(page.getByText('Held because')).toBeVisible();
  await expectAccessible(page);
  // The newer deck also ended what was held before.
  expect((await admin.get('/admin/inbox')).held_imports).toBe(0);
  const [rate] = (await admin.get('/admin/rates?prefix=3120')).data.filter((one: { upstream_name: string }) => one.upstream_name === NAME);
  expect(rate.base.amount).toBe('0.50');
});

test('a held import is rejected with a reason, and only once', async ({ page, request }) => {
  const { admin, id, path } = await baltic(request);
  await admin.put(`/admin/upstreams/${id}/hold-policy`, { increase_percent: 10 });
  await signInAs(page, people.admin, path);
  await apply(page, dutch(0.9));
  await page.getByRole('button', { name: 'Reject' }).click();
  const question = page.getByRole('dialog', { name: 'Reject this import?' });
  await question.getByRole('button', { name: 'Reject' }).click();
  await expect(question.getByLabel('Reason')).toHaveAttribute('aria-invalid', 'true');
  await question.getByLabel('Reason').fill('A typing error of the upstream');
  await expectAccessible(page);
  await question.getByRole('button', { name: 'Reject' }).click();
  await expect(page.getByText('The import was rejected. Nothing was changed.')).toBeVisible();
  await expect(page.getByText('A typing error of the upstream')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Reject' })).toBeHidden();
  await expectAccessible(page);

  // Somebody else is faster.
  await page.goto(path);
  await apply(page, dutch(0.9));
  await page.getByRole('button', { name: 'Apply deck' }).click();
  const late = page.getByRole('dialog', { name: `Apply this deck to ${NAME}?` });
  await admin.post(`/admin/upstreams/${id}/imports/${page.url().split('/').at(-1)}/reject`, { reason: 'Agreed on the phone' });
  await late.getByRole('button', { name: 'Apply deck' }).click();
  await expect(page.getByText('Agreed on the phone')).toBeVisible();
});

test('headers that nobody knows are named by hand, and errors by line and cell', async ({ page, request }) => {
  const { admin, path } = await baltic(request);
  const upstream = await admin.post('/admin/upstreams', { name: 'Quiet Carrier', dispatcher_group_id: 77, base_currency: 'EUR', markup_percent: 20 });
  await signInAs(page, people.admin, `/team/upstreams/${upstream.id}`);
  await drop(page, CSV('odd.csv', 'Wohin;Ziffern;Kosten', 'Sweden;46;0,01', 'Sweden mobile;467;cheap'));
  await expect(read(page).getByText('No row of the file has the headers that are needed.')).toBeVisible();
  await page.getByLabel('Header of destinations').fill('Wohin');
  await page.getByLabel('Header of prefixes').fill('Ziffern');
  await page.getByLabel('Header of rates per minute').fill('Kosten');
  await page.getByRole('button', { name: 'Preview again' }).click();
  const faults = page.getByRole('region', { name: 'Errors by line' });
  await expect(faults.getByRole('row').nth(1)).toContainText('rate_per_minute');
  await expect(page.getByRole('region', { name: 'Rates as they would be imported' }).getByRole('row').nth(1)).toContainText('Sweden');
  await expectAccessible(page);

  await page.getByRole('button', { name: 'Choose another file' }).click();
  await drop(page, XLSX('formula.xlsx', { Rates: [['prefix', 'destination_name', 'country', 'rate_per_minute'], ['46', 'Sweden', 'SE', '=1/80']] }));
  await expect(read(page).getByText('The file has our own header')).toBeVisible();
  await expect(faults.getByRole('row').nth(1)).toContainText('D2');
  await expect(faults.getByRole('row').nth(1)).toContainText('must be a value, not a formula');

  // A file that is no sheet at all is refused by name.
  await page.getByRole('button', { name: 'Choose another file' }).click();
  const { buffer, ...whole } = dutch(0.5);
  await drop(page, { ...whole, buffer: buffer.subarray(0, 600) });
  await expect(page.getByText('the workbook is truncated or damaged')).toBeVisible();
  await expectAccessible(page);

  // The saved mapping begins empty.
  await page.getByRole('button', { name: 'Sheet mapping' }).click();
  const mapping = page.getByRole('dialog', { name: 'Sheet mapping' });
  await expect(mapping.getByText('No mapping is saved.')).toBeVisible();
  await mapping.getByRole('button', { name: 'Save mapping' }).click();
  await expect(mapping.getByLabel('Header of prefixes')).toHaveAttribute('aria-invalid', 'true');
  await mapping.getByLabel('Header of destinations').fill('Wohin');
  await mapping.getByLabel('Header of prefixes').fill('Ziffern');
  await mapping.getByLabel('Header of rates per minute').fill('Kosten');
  await expectAccessible(page);
  await mapping.getByRole('button', { name: 'Save mapping' }).click();
  await expect(mapping).toBeHidden();
  expect((await admin.get(`/admin/upstreams/${upstream.id}/sheet-mapping`)).columns.rate_per_minute).toBe('Kosten');
  await page.goto(path);
  await expect(page.getByRole('heading', { level: 1, name: NAME })).toBeVisible();
});

test('a hold policy and a mapping that somebody else changed show both versions', async ({ page, request }) => {
  const { admin, id, path } = await baltic(request);
  const columns = { prefix: 'Code', destination_name: 'Name', rate_per_minute: 'Rate' };
  await admin.put(`/admin/upstreams/${id}/sheet-mapping`, { columns });
  await signInAs(page, people.admin, path);
  await page.getByRole('button', { name: 'Hold policy' }).click();
  const policy = page.getByRole('dialog', { name: 'Hold policy' });
  await policy.getByLabel('Prefixes that change, more than (%)').fill('30');
  await admin.put(`/admin/upstreams/${id}/hold-policy`, { changed_percent: 20 });
  await policy.getByRole('button', { name: 'Save hold policy' }).click();
  await expect(policy.getByRole('row', { name: /^Prefixes that change/ })).toContainText('20');
  await expectAccessible(page);
  await policy.getByRole('button', { name: 'Overwrite with mine' }).click();
  await policy.getByRole('button', { name: 'Save hold policy' }).click();
  await expect(page.getByText('that change more than 30% of the prefixes')).toBeVisible();

  await page.getByRole('button', { name: 'Sheet mapping' }).click();
  const mapping = page.getByRole('dialog', { name: 'Sheet mapping' });
  await mapping.getByLabel('Header of prefixes').fill('Dial Code');
  await admin.put(`/admin/upstreams/${id}/sheet-mapping`, { columns: { ...columns, prefix: 'Area' } });
  await mapping.getByRole('button', { name: 'Save mapping' }).click();
  await expect(mapping.getByRole('row', { name: /^Header of prefixes/ })).toContainText('Area');
  await mapping.getByRole('button', { name: 'Use the stored version' }).click();
  await expect(mapping.getByLabel('Header of prefixes')).toHaveValue('Area');
});

test('support reads the impact and is told that only an admin decides', async ({ page, request, service }) => {
  const { admin, id, path } = await baltic(request);
  await admin.put(`/admin/upstreams/${id}/hold-policy`, { increase_percent: 10 });
  await signInAs(page, people.admin, path);
  await admin.put(`/admin/upstreams/${id}/sheet-mapping`, { columns: { prefix: 'Dial Code', destination_name: 'Destination', rate_per_minute: 'Rate (EUR/min)' }, prefix_separator: ';' });
  await apply(page, dutch(0.95));
  await expect(page.getByText('This import waits for a decision')).toBeVisible();
  const held = page.url();
  await admin.post('/admin/users', { email: 'sofia@carrier.example', name: 'Sofia Support', roles: ['support'] });
  await signInByLink(page, service, 'sofia@carrier.example', new URL(held).pathname);
  const button = page.getByRole('button', { name: 'Apply deck' });
  await expect(button).toHaveAttribute('aria-disabled', 'true');
  await expect(button).toHaveAccessibleDescription('Only an admin can do this.');
  await expect(page.getByRole('region', { name: 'Destinations by what they cost' })).toBeVisible();
  await page.goto(path);
  await expect(page.getByLabel(/Rate deck/)).toBeDisabled();
  await page.getByRole('button', { name: 'Hold policy' }).click();
  await expect(page.getByRole('button', { name: 'Save hold policy' })).toHaveAttribute('aria-disabled', 'true');
});
