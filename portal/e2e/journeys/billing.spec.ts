// Money: the balance, top-ups through the checkout and back, cards, auto-recharge, invoices.
import { apiAs, expect, expectAccessible, people, signInAs, signInByLink, test, type Page } from '../world';

const DECLINED = '4000 0000 0000 0002';

/** From anywhere to the checkout with this amount. */
async function toCheckout(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await page.getByRole('button', { name: /^Go to checkout/ }).click();
  await expect(page).toHaveURL(/\/checkout\/\w+$/);
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Top up by');
}

test('the balance, what was spent and every movement are on one screen @phone @dark', async ({ page }) => {
  await signInAs(page, people.live, '/billing');
  await expect(page.getByText('Available', { exact: true })).toBeVisible();
  await expect(page.getByText('Lasts for')).toBeVisible();
  const ledger = page.getByRole('region', { name: 'Ledger entries' });
  await expect(ledger.getByRole('row').nth(1)).toContainText('€');
  await expectAccessible(page);
  await page.getByLabel('Kind').selectOption('Top-up');
  await expect(page).toHaveURL(/kind=topup/);
  await expect(ledger.getByRole('row')).toHaveCount(2);
  await ledger.getByRole('link', { name: 'Top-up' }).click();
  await expect(page.getByText('was added to the balance')).toBeVisible();
});

test.describe('west of UTC', () => {
  test.use({ timezoneId: 'America/Los_Angeles' });

  test('a UTC day of a chart keeps its date', async ({ page, request }) => {
    const { data } = await (await apiAs(request, people.live)).get('/account/balance/history');
    await signInAs(page, people.live, '/billing');
    const chart = page.getByRole('figure').filter({ hasText: 'Balance by day' });
    await chart.getByRole('button', { name: 'Show as table' }).click();
    const format = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });
    await expect(chart.getByRole('rowheader').last()).toHaveText(format.format(new Date(data.at(-1).date)));
    await expect(chart.getByRole('columnheader', { name: 'Day', exact: true })).toBeVisible();
  });
});

test('the low-balance alert can be changed and is refused in words when it is wrong', async ({ page }) => {
  await signInAs(page, people.live, '/billing');
  await page.getByRole('button', { name: 'Change alert' }).click();
  await page.getByLabel(/^Threshold in percent/).fill('250');
  await page.getByRole('button', { name: 'Save alert' }).click();
  await expect(page.getByRole('dialog').getByText(/100/).last()).toBeVisible();
  await page.getByLabel(/^Threshold in percent/).fill('35');
  await page.getByRole('button', { name: 'Save alert' }).click();
  await expect(page.getByText('On: below 35%')).toBeVisible();
});

test('a paid top-up appears without reloading and leads on to where the customer was @core @postgres', async ({ page }) => {
  await signInAs(page, people.live);
  await toCheckout(page, '/billing/topups?new=1&amount=25&next=%2Fsupport');
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Pay €25.00' }).click();
  await expect(page).toHaveURL(/\/billing\/topups\/[0-9a-f-]{36}\?next=/);
  await expect(page.getByText('€25.00 was added to the balance')).toBeVisible({ timeout: 20_000 });
  await expectAccessible(page);
  await page.getByRole('link', { name: 'Continue' }).click();
  await expect(page.getByRole('heading', { name: 'Support', level: 1 })).toBeVisible();
});

test('a declined card is said on the screen of the top-up, and another try begins with the same amount', async ({ page }) => {
  await signInAs(page, people.live);
  await toCheckout(page, '/billing/topups?new=1&amount=30');
  await page.getByRole('button', { name: DECLINED }).click();
  await expect(page.getByLabel('Card number')).toHaveValue(DECLINED);
  await page.getByRole('button', { name: 'Pay €30.00' }).click();
  await expect(page.getByText('The payment failed')).toBeVisible({ timeout: 20_000 });
  await page.getByRole('link', { name: 'Try again' }).click();
  await expect(page.getByRole('textbox', { name: 'Amount' })).toHaveValue('30.00');
});

test('an abandoned checkout leaves a pending top-up, and a wrong card number is refused at its field', async ({ page }) => {
  await signInAs(page, people.live);
  await toCheckout(page, '/billing/topups?new=1&amount=40');
  await page.getByLabel('Card number').fill('1234');
  await page.getByRole('button', { name: 'Pay €40.00' }).click();
  await expect(page.getByText(/valid card number/)).toBeVisible();
  await page.goto('/billing/topups');
  await page.getByRole('region', { name: 'Top-ups' }).getByRole('row').nth(1).getByRole('link').click();
  await expect(page.getByText('Waiting for the payment')).toBeVisible();
  await page.goBack();
  await page.getByLabel('Status').selectOption('Pending');
  await expect(page.getByRole('region', { name: 'Top-ups' }).getByRole('row').nth(1)).toContainText('€40.00');
});

test('a cancelled checkout costs nothing', async ({ page }) => {
  await signInAs(page, people.live);
  await toCheckout(page, '/billing/topups?new=1&amount=45');
  await page.getByRole('button', { name: 'Cancel and go back' }).click();
  await expect(page.getByText('The payment failed')).toBeVisible({ timeout: 20_000 });
});

test('an amount outside the limits is refused before anything is opened', async ({ page }) => {
  await signInAs(page, people.live, '/billing/topups?new=1');
  await page.getByRole('textbox', { name: 'Amount' }).fill('0.50');
  await page.getByRole('button', { name: 'Go to checkout' }).click();
  await expect(page.getByText('Enter an amount from €1.00')).toBeVisible();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Close' }).click();
  await expect(page).toHaveURL(/\/billing\/topups$/);
});

test('a card is saved, becomes the default, serves auto-recharge and is deleted @phone', async ({ page }) => {
  await signInAs(page, people.german, '/billing/cards');
  await page.getByRole('button', { name: 'Add card' }).click();
  await page.getByRole('button', { name: /5555 5555/ }).click();
  await page.getByRole('button', { name: 'Save card' }).click();
  await expect(page).toHaveURL(/\/billing\/cards\?saved=1/);
  const cards = page.getByRole('region', { name: 'Saved cards' });
  await expect(cards.getByText('Mastercard •••• 4444')).toBeVisible({ timeout: 20_000 });
  await page.getByRole('button', { name: 'Make default' }).first().click();
  await expect(page.getByText('Mastercard •••• 4444 is the default card now.')).toBeVisible();
  await expectAccessible(page);

  await page.getByLabel('Recharge automatically').check();
  await page.getByLabel('When the balance falls below').fill('20');
  await page.getByLabel('Charge', { exact: true }).fill('75');
  await page.getByLabel('From this card').selectOption({ label: await page.getByRole('option', { name: /Mastercard/ }).innerText() });
  await expect(page.getByText(/When the balance falls below €20.00, Mastercard •••• 4444 is charged €75.00/)).toBeVisible();
  await page.getByRole('button', { name: 'Save auto-recharge' }).click();
  await expect(page.getByText('Auto-recharge was saved.')).toBeVisible();

  const other = cards.getByRole('row', { name: /Visa/ });
  await other.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete card' }).click();
  await expect(other).toHaveCount(0);
});

test('an invoice shows its lines, VAT and PDF @core', async ({ page, context }) => {
  await signInAs(page, people.live, '/billing/invoices');
  await page.getByRole('region', { name: 'Invoices' }).getByRole('row').nth(1).getByRole('link').click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Invoice 20');
  await expect(page.getByRole('region', { name: 'Invoice lines' }).getByRole('row').nth(1)).toContainText('€');
  await expect(page.getByText('VAT', { exact: true })).toBeVisible();
  const link = page.waitForResponse((response) => response.url().endsWith('/pdf') && response.ok());
  const opened = context.waitForEvent('page');
  await page.getByRole('button', { name: 'Download PDF' }).click();
  const { pdf_url } = await (await link).json();
  const pdf = await page.request.get(pdf_url);
  expect((await pdf.body()).subarray(0, 5).toString()).toBe('%PDF-');
  await (await opened).close();
});

test('a void invoice and a credit note say so', async ({ page, request }) => {
  const admin = await apiAs(request, people.admin);
  const invoices = (await admin.get('/admin/invoices?limit=50')).data;
  const paid = invoices.find((one: { status: string; account_email?: string }) => one.status === 'paid');
  await admin.post(`/admin/invoices/${paid.id}/credit`, { reason: 'Charged twice' });
  const owner = (await admin.get(`/admin/customers/${paid.customer_id}/users`)).data[0];
  await signInAs(page, owner.email, `/billing/invoices/${paid.id}`);
  await expect(page.getByText(/Credit note CN-/)).toBeVisible();
  await expect(page.getByText('Credited', { exact: true })).toBeVisible();
});

test('a user without the billing role sees why it cannot pay @core', async ({ page, request, service }) => {
  const owner = await apiAs(request, people.live);
  await owner.post('/account/users', { email: 'vera@kanaal.example', name: 'Vera Viewer', account_role: 'viewer' });
  await signInByLink(page, service, 'vera@kanaal.example', '/billing');
  const button = page.getByRole('button', { name: 'Top up' });
  await expect(button).toHaveAttribute('aria-disabled', 'true');
  await expect(button).toHaveAccessibleDescription(/Only an owner or a user with the billing role/);
});
