// Calls of all customers: traffic, margin, live calls, exports and suspended CDRs.
import { switchOf, trunkOf } from '../switch';
import { apiAs, expect, expectAccessible, people, signInAs, test } from '../world';

test('traffic is shown by customer and upstream with cost and margin @phone @dark', async ({ page }) => {
  await signInAs(page, people.admin, '/team/traffic');
  const customers = page.getByRole('region', { name: 'Sums of the period by customer, table' });
  await expect(customers.getByRole('row', { name: /Kanaal/ })).toContainText('%');
  await expectAccessible(page);
  await page.getByLabel('By', { exact: true }).selectOption('Upstream');
  await page.getByLabel('Show', { exact: true }).selectOption('Margin');
  await expect(page.getByRole('img', { name: 'Margin' })).toBeVisible();
  const upstreams = page.getByRole('region', { name: 'Sums of the period by upstream, table' });
  await upstreams.getByRole('link').first().click();
  await expect(page).toHaveURL(/\/team\/calls\?upstream_id=/);
  await expect(page.getByRole('region', { name: 'Calls of all customers' }).getByRole('row').nth(1)).toBeVisible();
});

test('a call shows its margin and where its price comes from', async ({ page, request }) => {
  const admin = await apiAs(request, people.admin);
  const [found] = (await admin.get('/admin/cdrs?status=answered&leg=termination&limit=1')).data;
  const cdr = await admin.get(`/admin/cdrs/${found.id}`);
  await signInAs(page, people.admin, `/team/calls?call_id=${encodeURIComponent(cdr.call_id)}`);
  await expect(page.getByRole('status', { name: 'Summary of the calls below' })).toContainText('1 call');
  await expectAccessible(page);
  await page.getByRole('region', { name: 'Calls of all customers' }).getByRole('link', { name: 'Open' }).click();
  const drawer = page.getByRole('dialog', { name: 'Call' });
  await expect(drawer).toContainText(`€${cdr.our_cost.amount}`);
  await expect(drawer).toContainText('Where the price comes from');
  await expect(drawer).toContainText(`+${cdr.source.prefix}`);
  await expect(drawer).toContainText('Routes to this number now');
  await expectAccessible(page);
  await page.keyboard.press('Escape');
  await expect(page).toHaveURL(/\/team\/calls\?call_id=/);
});

test('calls of one customer are found by its name', async ({ page }) => {
  await signInAs(page, people.admin, '/team/calls?status=busy');
  await page.getByLabel('Customer', { exact: true }).pressSequentially('Rheinruf');
  await page.waitForResponse(/\/admin\/customers\?/);
  await page.getByLabel('Customer', { exact: true }).press('Enter');
  await expect(page).toHaveURL(/account_id=/);
  await expect(page.getByLabel('Customer', { exact: true })).toHaveValue('Rheinruf GmbH');
  await expect(page.getByRole('region', { name: 'Calls of all customers' }).getByRole('row').nth(1)).toContainText('Rheinruf GmbH');
  await expect(page.getByLabel('Trunk')).toBeVisible();
});

test('a live call is hung up after a question', async ({ page, request, service }) => {
  const trunk = await trunkOf(await apiAs(request, people.live));
  const edge = switchOf(service);
  const token = await edge.call(trunk.address, '+31201234567');
  await signInAs(page, people.admin, '/team/calls/live');
  await expectAccessible(page);
  const row = page.getByRole('region', { name: 'Live calls of all customers' }).getByRole('row').nth(1);
  await row.getByRole('button', { name: 'Hang up' }).click();
  const question = page.getByRole('dialog', { name: 'Hang up this call?' });
  await expect(question).toContainText('The call of Kanaal Contact BV to +31 201 234 567');
  await question.getByRole('button', { name: 'Hang up' }).click();
  await expect(row).toContainText('Hanging up');
  expect(await edge.toHangUp()).toContain(token);
  await edge.hangUp(token);
  await page.goto(`/team/calls/${token}`);
  await expect(page.getByRole('dialog', { name: 'Call' })).toContainText('Hung up by the team');
});

test('calls of all customers are exported with the filters on the screen', async ({ page }) => {
  await signInAs(page, people.admin, '/team/calls?status=answered&country=BE');
  await page.getByRole('button', { name: 'Export these calls' }).click();
  const dialog = page.getByRole('dialog', { name: 'Export these calls' });
  await expect(dialog).toContainText('Belgium');
  await dialog.getByRole('button', { name: 'Start export' }).click();
  const first = page.getByRole('region', { name: 'Exports, newest first' }).getByRole('row').nth(1);
  await expect(first).toContainText('Ready', { timeout: 20_000 });
  await expect(first).toContainText('Country: Belgium');
  await expectAccessible(page);
});

test('suspended CDRs are rated again or dropped with a reason', async ({ page, request, service }) => {
  const trunk = await trunkOf(await apiAs(request, people.live));
  const line = (call_id: string, called: string, trunk_id: string) => {
    const at = (seconds: number) => new Date(Date.now() - 3_600_000 + seconds * 1000).toISOString();
    return { call_id, leg: 'termination', trunk_id, calling: '+31201111111', called, started_at: at(0), answered_at: at(5), ended_at: at(65), status: 'answered' };
  };
  await switchOf(service).importCdrs([line('not-sold', '+99912345678', trunk.id), line('no-trunk', '+31201234567', crypto.randomUUID())]);
  await signInAs(page, people.admin, '/team/suspense');
  await page.getByRole('link', { name: /Not sold/ }).click();
  await expect(page.getByText('The number had no rate when the call began.')).toBeVisible();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Rate all again' }).click();
  const rerate = page.getByRole('dialog', { name: 'Rate all suspended CDRs again?' });
  await rerate.getByRole('button', { name: 'Rate all again' }).click();
  await expect(page.getByText('0 rated and charged, 0 were there already, 2 still suspended.')).toBeVisible();

  const row = page.getByRole('region', { name: 'Suspended CDRs' }).getByRole('row', { name: /not-sold/ });
  await row.getByRole('button', { name: 'Drop' }).click();
  const drop = page.getByRole('dialog', { name: 'Drop this call?' });
  await expect(drop).toContainText('will never be charged');
  await drop.getByRole('button', { name: 'Drop call' }).click();
  await drop.getByLabel('Reason').fill('Test call of the switch');
  await drop.getByRole('button', { name: 'Drop call' }).click();
  await expect(row).toBeHidden();
  const admin = await apiAs(request, people.admin);
  expect((await admin.get('/admin/cdrs/suspense/summary')).total).toBe(1);
});
