// Calls of a customer: found, explained, exported, live, simulated, over time.
import { readFileSync } from 'node:fs';
import { switchOf, trunkOf } from '../switch';
import { apiAs, expect, expectAccessible, people, signInAs, test } from '../world';

test('a call is found by filters in the address, and explains its price @phone @dark @postgres @core', async ({ page, request }) => {
  const customer = await apiAs(request, people.live);
  const [cdr] = (await customer.get('/cdrs?status=answered&leg=termination&limit=1')).data;
  const { price, duration_seconds } = await customer.get(`/cdrs/${cdr.id}`);

  await signInAs(page, people.live, '/calls');
  await expect(page.getByLabel('Period')).toHaveValue('all');
  await page.getByLabel('Result').selectOption('Answered');
  await expect(page).toHaveURL(/status=answered/);
  await page.getByLabel('Direction').selectOption('Outbound');
  await page.getByLabel('Called number begins with').fill(cdr.called);
  await expect(page).toHaveURL(new RegExp(`called=%2B${cdr.called.slice(1)}`));
  const summary = page.getByRole('status', { name: 'Summary of the calls below' });
  await expect(summary).toContainText('(100%)');
  await expect(summary).toContainText('All calls that match.');
  await expectAccessible(page);

  await page.getByRole('region', { name: 'Calls' }).getByRole('link', { name: 'Open' }).last().click();
  await expect(page).toHaveURL(new RegExp(`/calls/[0-9a-f-]{36}\\?.*status=answered`));
  await page.goto(`/calls/${cdr.id}?status=answered`);
  const drawer = page.getByRole('dialog', { name: 'Call' });
  await expect(drawer).toContainText('The called party answered.');
  await expect(drawer).toContainText(`+${price.prefix}`);
  await expect(drawer).toContainText(`${duration_seconds} s`);
  await expect(drawer).toContainText(`${price.billed_seconds} s × rate ÷ 60`);
  await expect(drawer.getByRole('listitem').last()).toContainText(`€${price.charge.amount}`);
  await expectAccessible(page);
  await page.keyboard.press('Escape');
  await expect(drawer).toBeHidden();
  await expect(page).toHaveURL(/\/calls\?status=answered$/);
});

test('filters that cannot match say so, and a wrong number is not sent', async ({ page }) => {
  await signInAs(page, people.live, '/calls?called=%2B99999');
  await expect(page.getByText('No call matches')).toBeVisible();
  await page.getByLabel('Called number begins with').fill('abc');
  await expect(page.getByText('Digits only, country code first.')).toBeVisible();
  await page.getByRole('button', { name: 'Reset filters' }).click();
  await expect(page.getByRole('region', { name: 'Calls' })).toBeVisible();
  await page.getByRole('button', { name: 'Add up all' }).click();
  await expect(page.getByRole('status', { name: 'Summary of the calls below' })).toContainText('All calls that match.');
});

test('a call that cost nothing can be asked about in a ticket', async ({ page, request }) => {
  const customer = await apiAs(request, people.live);
  const [cdr] = (await customer.get('/cdrs?status=failed&limit=1')).data;
  await signInAs(page, people.live, `/calls/${cdr.id}`);
  const drawer = page.getByRole('dialog', { name: 'Call' });
  await expect(drawer).toContainText('could not be connected');
  await expect(drawer).toContainText('so the call costs nothing');
  await drawer.getByRole('link', { name: 'Ask about this call' }).click();
  await expect(page).toHaveURL(new RegExp(`/support/new\\?call=${cdr.id}`));
});

test('a disputed charge becomes a ticket, the team credits it, and it is in the ledger @phone @dark', async ({ page, request }, { project }) => {
  const customer = await apiAs(request, people.live);
  const [cdr] = (await customer.get('/cdrs?status=answered&leg=termination&limit=1')).data;
  const { charge } = (await customer.get(`/cdrs/${cdr.id}`)).price;
  await signInAs(page, people.live, `/calls/${cdr.id}`);
  await page.getByRole('dialog', { name: 'Call' }).getByRole('button', { name: 'Dispute this call' }).click();
  const dialog = page.getByRole('dialog', { name: 'Dispute the charge of this call' });
  await dialog.getByLabel('Reason').fill('Nobody answered, there was only silence.');
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Open dispute' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Disputed call to');
  await expect(page.getByText('Nobody answered, there was only silence.')).toBeVisible();

  await signInAs(page, people.admin, '/team');
  await page.getByRole('link', { name: /^Call disputes to decide/ }).click();
  await expectAccessible(page);
  await page.getByRole('region', { name: 'Call disputes' }).getByRole('row').nth(1).click();
  await expect(page.getByText('Nobody answered, there was only silence.')).toBeVisible();
  await page.getByLabel('Credit', { exact: false }).first().check();
  await expect(page.getByText(`Leave it empty to credit the whole charge, €${charge.amount}.`)).toBeVisible();
  await page.getByLabel('Note to the customer').fill('The upstream answered too early.');
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Credit the call' }).click();
  await expect(page.getByText('The call was credited.')).toBeVisible();

  await signInAs(page, people.live, '/support/disputes');
  await expect(page.getByRole('region', { name: 'Call disputes' }).getByRole('row').nth(1)).toContainText('Credited');
  await expectAccessible(page);

  await page.goto('/billing?kind=call_credit');
  const line = page.getByRole('region', { name: 'Ledger entries' }).getByRole('row').nth(1);
  await expect(line).toContainText('Call credit');
  await expect(line).toContainText(`Disputed call to ${cdr.called}`);
  // A phone has no room for more than cents.
  await expect(line).toContainText(project.name === 'phone' ? '+€' : `+€${charge.amount}`);
  await expectAccessible(page);
});

test('what is exported is what the filters show, in the time zone of the reader', async ({ page, request }) => {
  await signInAs(page, people.live, '/calls?status=answered&called=%2B32');
  await expect(page.getByRole('region', { name: 'Calls' }).getByRole('row').nth(1)).toContainText('+32');
  await page.getByRole('button', { name: 'Export these calls' }).click();
  const dialog = page.getByRole('dialog', { name: 'Export these calls' });
  await expect(dialog).toContainText('Answered');
  await expect(dialog).toContainText('+32');
  await expect(dialog.getByLabel('Europe/Amsterdam')).toBeChecked();
  await dialog.getByLabel('JSON Lines').check();
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Start export' }).click();

  await expect(page.getByRole('heading', { name: 'Call exports' })).toBeVisible();
  const first = page.getByRole('region', { name: 'Exports, newest first' }).getByRole('row').nth(1);
  await expect(first).toContainText('Ready', { timeout: 20_000 });
  await expect(first).toContainText('Called number begins with: +32');
  await expectAccessible(page);
  const download = page.waitForEvent('download');
  await first.getByRole('button', { name: 'Download' }).click();
  const lines = readFileSync(await (await download).path(), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
  expect(lines.every((line) => line.status === 'answered' && line.called.startsWith('+32'))).toBe(true);
  expect(lines.every((line) => /\+0[12]:00$/.test(line.started_at))).toBe(true);
  const customer = await apiAs(request, people.live);
  expect(lines).toHaveLength((await customer.get('/cdrs?status=answered&called=32&limit=1000')).data.length);
});

test('a live call ticks, fills a channel and becomes a CDR', async ({ page, request, service }) => {
  const customer = await apiAs(request, people.live);
  const trunk = await trunkOf(customer);
  const edge = switchOf(service);
  const token = await edge.call(trunk.address, '+31201234567');
  await signInAs(page, people.live, '/calls/live');
  const row = page.getByRole('region', { name: 'Live calls' }).getByRole('row').nth(1);
  await expect(row).toContainText('+31 201 234 567');
  await expect(page.getByRole('meter', { name: trunk.name })).toHaveAttribute('aria-valuenow', '1');
  const time = row.getByRole('cell', { name: /^\d+:\d\d$/ });
  const before = await time.textContent();
  await expect(time).not.toHaveText(before ?? '');
  await expectAccessible(page);
  await edge.hangUp(token);
  await expect(page.getByText('No live calls')).toBeVisible({ timeout: 15_000 });
  await page.goto(`/calls/${token}`);
  await expect(page.getByRole('dialog', { name: 'Call' })).toContainText('Netherlands');
});

test('a simulated call is allowed, or refused with what to do', async ({ page, request }) => {
  const customer = await apiAs(request, people.live);
  const caps = await customer.get('/fraud-caps');
  await signInAs(page, people.live, '/calls/simulate');
  await page.getByLabel('Called number').fill('+31201234567');
  await page.getByRole('button', { name: 'Simulate call' }).click();
  await expect(page.getByText('The call would be allowed')).toBeVisible();
  await expect(page.getByRole('listitem').filter({ hasText: 'Balance covers the call' })).toContainText('Passed');
  await expectAccessible(page);

  await page.getByLabel('Called number').fill('+999123456');
  await page.getByRole('button', { name: 'Simulate call' }).click();
  await expect(page.getByText('The call would be refused')).toBeVisible();
  await expect(page.getByRole('listitem').filter({ hasText: 'Destination is sold' })).toContainText('There is no rate for this number.');
  await expect(page.getByRole('listitem').filter({ hasText: 'Balance covers the call' })).toContainText('Not reached');

  await customer.put('/fraud-caps', { ...caps, max_rate_per_minute: { amount: '0.0001', amount_minor: 0, currency: 'EUR' } });
  await page.getByLabel('Called number').fill('+31201234567');
  await page.getByRole('button', { name: 'Simulate call' }).click();
  const refused = page.getByRole('listitem').filter({ hasText: 'Rate is within your cap' });
  await expect(refused).toContainText('Refused');
  await expect(refused.getByRole('link', { name: 'Open limits' })).toHaveAttribute('href', '/settings/limits');
  await expect(page.getByText('Your switch would receive SIP 403.')).toBeVisible();
  await customer.put('/fraud-caps', caps);
});

test('usage is shown by country, closer by dragging, and as a table @phone @dark @postgres', async ({ page }) => {
  await signInAs(page, people.live, '/usage');
  await page.getByLabel('By', { exact: true }).selectOption('Country');
  await page.getByLabel('Show', { exact: true }).selectOption('Spend');
  await expect(page).toHaveURL(/by=country.*show=charge/);
  const sums = page.getByRole('region', { name: 'Sums of the period by country, table' });
  await expect(sums.getByRole('link', { name: 'Netherlands' })).toHaveAttribute('href', /\/calls\?country=NL&from=/);
  await expectAccessible(page);

  const plot = page.getByRole('img', { name: 'Spend' }).locator('svg');
  await plot.scrollIntoViewIfNeeded();
  const box = (await plot.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  await page.mouse.move(box.x + box.width * 0.4, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 40, { steps: 5 });
  await page.mouse.up();
  await expect(page).toHaveURL(/from=.*to=/);
  await page.getByRole('button', { name: 'Zoom out' }).click();
  await expect(page).not.toHaveURL(/to=/);

  await page.getByRole('button', { name: 'Show as table' }).first().click();
  await expect(page.getByRole('columnheader', { name: /^Time/ })).toBeVisible();
  await expect(page.getByRole('heading', { name: 'Concurrent calls' })).toBeVisible();
  await expect(page.getByText(/^ASR \d/).first()).toBeVisible();
});
