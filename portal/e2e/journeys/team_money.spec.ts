import { apiAs, expect, expectAccessible, people, signInAs, test } from '../world';
import { readFileSync } from 'node:fs';

// A credit that is too large for one admin.
test.use({ expectedErrors: [/status of 409/] });

const DISPUTED_CARD = '4000000000000259';
type Api = Awaited<ReturnType<typeof apiAs>>;
type Request = Parameters<typeof apiAs>[0];

/** A top-up of this many cents, paid with a card of the sandbox. */
async function paid(request: Request, customer: Api, amount_minor: number, card = '4242424242424242'): Promise<void> {
  const { checkout_url } = await customer.post('/payments/topups', { amount_minor, currency: 'EUR' });
  const order = new URL(checkout_url).pathname.split('/').at(-1);
  expect((await request.post(`/v1/sandbox/checkouts/${order}`, { data: { action: 'pay', card_number: card } })).ok()).toBe(true);
  await expect(async () => {
    const { data } = await customer.get('/payments/topups');
    expect(data.find((topup: { amount_minor: number }) => topup.amount_minor === amount_minor).status).toBe('completed');
  }).toPass({ timeout: 20_000 });
}

test('a refund says what is left and what follows, and happens once @postgres @core', async ({ page, request }) => {
  const customer = await apiAs(request, people.live);
  await paid(request, customer, 4321);
  await signInAs(page, people.admin, '/team/payments?status=completed');
  await page.getByRole('row', { name: /43\.21/ }).first().getByRole('button', { name: 'Open' }).click();
  const drawer = page.getByRole('dialog', { name: 'Payment' });
  // The payment has an address of its own, whatever the list shows.
  const { searchParams } = new URL(page.url());
  await page.goto(`/team/payments?status=failed&payment=${searchParams.get('payment')}`);
  await expect(drawer).toContainText('€43.21');
  await page.goto(`/team/payments?status=completed&payment=${searchParams.get('payment')}`);
  await drawer.getByLabel('Amount').fill('50');
  await drawer.getByLabel('Reason').fill('Paid twice');
  await drawer.getByRole('button', { name: 'Refund', exact: true }).click();
  await expect(drawer.getByText('Only €43.21 of this payment is left.')).toBeVisible();
  await drawer.getByLabel('Amount').fill('10');
  await expect(drawer.getByText(/€10\.00 goes back to the card that paid/)).toBeVisible();
  await expectAccessible(page);
  await drawer.getByRole('button', { name: 'Refund €10.00' }).click();
  await expect(drawer).toBeHidden();
  const row = page.getByRole('row', { name: /43\.21/ }).first();
  await expect(row).toContainText('€10.00');
  await expect(row).toContainText('€33.21');
});

test('a disputed payment has a chargeback and cannot be refunded', async ({ page, request }) => {
  const customer = await apiAs(request, people.german);
  await paid(request, customer, 7777, DISPUTED_CARD);
  await signInAs(page, people.admin, '/team/chargebacks?status=open');
  await expectAccessible(page);
  await page.getByRole('row', { name: /77\.77/ }).getByRole('link', { name: 'Open' }).click();
  await expect(page.getByRole('heading', { level: 1, name: /Chargeback of/ })).toBeVisible();
  await expect(page.getByText(/The amount was taken out of the balance/)).toBeVisible();
  await expectAccessible(page);
  await page.getByRole('link', { name: 'Payments of the customer' }).click();
  await page.getByRole('row', { name: /77\.77/ }).getByRole('button', { name: 'Open' }).click();
  await expect(page.getByRole('dialog').getByRole('link', { name: 'See the chargeback' })).toBeVisible();
});

test('an invoice is credited with the consequence stated, and found by its customer', async ({ page, request }) => {
  const admin = await apiAs(request, people.admin);
  const { data } = await admin.get('/admin/invoices?status=paid');
  const invoice = data[0] as { id: string; number: string; customer_name: string };
  await signInAs(page, people.admin, '/team/invoices');
  await page.getByRole('combobox', { name: 'Customer' }).fill(invoice.customer_name.split(' ')[0] ?? '');
  await page.getByRole('option', { name: new RegExp(invoice.customer_name) }).click();
  await expect(page).toHaveURL(/customer_id=/);
  await expectAccessible(page);
  await page.getByRole('row', { name: new RegExp(invoice.number) }).getByRole('button', { name: 'Open' }).click();
  const drawer = page.getByRole('dialog', { name: invoice.number });
  await expect(drawer.getByRole('button', { name: 'Void invoice' })).toHaveAttribute('aria-disabled', 'true');
  await drawer.getByRole('button', { name: 'Issue credit note' }).click();
  await expect(drawer.getByText(`A credit note cancels invoice ${invoice.number}`, { exact: false })).toBeVisible();
  await drawer.getByLabel('Reason').fill('Wrong billing address');
  await expectAccessible(page);
  await drawer.getByRole('button', { name: 'Issue credit note' }).last().click();
  await expect(drawer.getByText(/CN-\d{4}-/)).toBeVisible();
  await page.reload();
  await expect(drawer.getByText('Wrong billing address')).toBeVisible();
});

test('a credit is posted, a large one becomes a request, and only another admin approves it', async ({ page, request }) => {
  await signInAs(page, people.admin, '/team/credits');
  await page.getByRole('button', { name: 'Credit a customer' }).click();
  const form = page.getByRole('dialog', { name: 'Credit a customer' });
  await form.getByRole('combobox', { name: 'Customer' }).fill('Kanaal');
  await form.getByRole('option').first().click();
  await form.getByRole('textbox', { name: 'Amount' }).fill('25000');
  await form.getByLabel('Reason').fill('Compensation for an outage');
  await expect(form.getByText('Balance afterwards')).toBeVisible();
  await form.getByRole('button', { name: 'Credit €25,000.00' }).click();
  await form.getByRole('button', { name: 'Make it a request' }).click();
  await expectAccessible(page);
  await form.getByRole('button', { name: 'Request €25,000.00' }).click();
  await expect(form).toBeHidden();
  const own = page.getByRole('row', { name: /25,000\.00/ });
  await own.getByRole('button', { name: 'Open' }).click();
  const opened = page.getByRole('dialog', { name: 'Request for a second admin' });
  await expect(opened).toContainText('Compensation for an outage');
  await expectAccessible(page);
  await opened.getByRole('button', { name: 'Close' }).click();
  await expect(own.getByRole('button', { name: 'Approve' })).toHaveAttribute('aria-disabled', 'true');
  await own.getByRole('button', { name: 'Take back' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Take back' }).click();
  await expect(own).toContainText('Rejected');

  await page.getByRole('button', { name: 'Credit a customer' }).click();
  await form.getByRole('combobox', { name: 'Customer' }).fill('Kanaal');
  await form.getByRole('option').first().click();
  await form.getByRole('textbox', { name: 'Amount' }).fill('5');
  await form.getByLabel('Reason').fill('Test call');
  await form.getByRole('button', { name: 'Credit €5.00' }).click();
  await expect(form).toBeHidden();
  const customer = await apiAs(request, people.live);
  expect((await customer.get('/account/ledger')).data[0]).toMatchObject({ kind: 'credit', description: 'Test call' });
});

test('a request of another admin is approved', async ({ page, request, service }) => {
  const admin = await apiAs(request, people.admin);
  await admin.post('/admin/users', { email: 'otto@carrier.example', name: 'Otto Operator', roles: ['admin'] });
  const token = /magic-link[^\s#?]*[#?](?:token=)?([\w.~-]+)/.exec(await service.mail('otto@carrier.example'))?.[1];
  const { access_token } = await (await request.post('/v1/auth/magic-link/redeem', { data: { token } })).json();
  const { data } = await admin.get('/admin/customers?q=Kanaal');
  const asked = await request.post('/v1/admin/credit-requests', {
    headers: { Authorization: `Bearer ${access_token}`, 'Idempotency-Key': crypto.randomUUID() },
    data: { customer_id: data[0].id, amount: { amount_minor: 123_400, currency: 'EUR' }, reason: 'Volume bonus' },
  });
  expect(asked.status(), await asked.text()).toBe(201);
  await signInAs(page, people.admin, '/team/credits');
  await expectAccessible(page);
  const row = page.getByRole('row', { name: /1,234\.00/ });
  await row.getByRole('button', { name: 'Approve' }).click();
  const question = page.getByRole('dialog', { name: 'Approve this request?' });
  await expect(question).toContainText('€1,234.00 is posted to the balance of');
  await question.getByRole('button', { name: 'Approve' }).click();
  await expect(row).toContainText('Approved');
});

test('the margin report adds up, and its file has the same filters @postgres', async ({ page, request }) => {
  await signInAs(page, people.admin, '/team/margin');
  await expect(page.getByRole('figure')).toBeVisible();
  await expectAccessible(page);
  await page.getByLabel('By', { exact: true }).selectOption('Customer');
  await expect(page).toHaveURL(/by=customer/);
  const table = page.getByRole('region', { name: 'Margin, one row for each customer' });
  await expect(table.getByRole('row').nth(1)).toContainText('Total');
  await page.getByLabel('Order', { exact: true }).selectOption('Name');
  await expect(page.getByRole('list', { name: 'Highest margin' })).toBeVisible();
  const waiting = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download CSV' }).click();
  const download = await waiting;
  expect(download.suggestedFilename()).toMatch(/^margin-by-customer-/);
  const lines = readFileSync(await download.path(), 'utf8').trim().split('\n');
  const admin = await apiAs(request, people.admin);
  const query = new URL(page.url()).searchParams;
  query.delete('sort');
  query.set('time_zone', 'Europe/Amsterdam');
  const report = await admin.get(`/admin/reports/margin?${query}`);
  expect(lines.length).toBe(report.data.length + 1);
});

test('the margin report goes from customers back to days', async ({ page }) => {
  await signInAs(page, people.admin, '/team/margin?by=customer');
  await expect(page.getByRole('list', { name: 'Highest margin' })).toBeVisible();
  await page.getByLabel('By', { exact: true }).selectOption('Day');
  await expect(page.getByRole('figure')).toBeVisible();
  await expect(page.getByRole('region', { name: 'Margin, one row for each day' }).getByRole('row').nth(1)).toContainText('Total');
});

test('the margin report is shown although its rows come before its totals', async ({ page }) => {
  const rows = page.waitForResponse(/reports\/margin\?.*limit=200/);
  await page.route(/reports\/margin\?.*limit=1(&|$)/, async (route) => {
    await (await rows).finished();
    await route.continue();
  });
  await signInAs(page, people.admin, '/team/margin');
  await expect(page.getByRole('figure')).toBeVisible();
});

test('money on a phone @phone', async ({ page }) => {
  test.slow();
  await signInAs(page, people.admin, '/team/payments?status=failed');
  await expectAccessible(page);
  for (const path of ['/team/invoices?status=issued', '/team/credits?new=1', '/team/margin?by=upstream', '/team/chargebacks']) {
    await page.goto(path);
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    await expectAccessible(page);
  }
});
