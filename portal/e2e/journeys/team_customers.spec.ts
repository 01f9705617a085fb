// Customers: found, looked at from every side, and changed with the consequence said first.
import { apiAs, expect, expectAccessible, people, signInAs, test, type Page } from '../world';

type Api = Awaited<ReturnType<typeof apiAs>>;
const find = async (admin: Api, q: string) => (await admin.get(`/admin/customers?q=${encodeURIComponent(q)}`)).data[0];

test.use({ expectedErrors: [/status of 409/] });

test('a customer is found by name, email, number and status, and the address keeps the filters @phone @dark @postgres', async ({ page, request }) => {
  const admin = await apiAs(request, people.admin);
  const { id } = await find(admin, 'Kanaal');
  const [number] = (await admin.get(`/admin/customers/${id}/numbers`)).data;
  await signInAs(page, people.admin, '/team/customers');
  await expectAccessible(page);
  for (const q of ['kanaal con', people.live, number.e164]) {
    await page.getByRole('searchbox', { name: 'Company, email, number' }).fill(q);
    await expect(page.getByRole('row')).toHaveCount(2);
    await expect(page.getByRole('row').last()).toContainText('Kanaal Contact BV');
  }
  await page.getByRole('button', { name: 'Reset filters' }).click();
  await page.getByLabel('Status').selectOption('Documents requested');
  await expect(page).toHaveURL(/status=docs_requested/);
  await page.getByLabel('Status').selectOption('Suspended');
  await expect(page).toHaveURL(/status=suspended/);
  await expect(page.getByRole('row')).toHaveCount(2);
  await page.reload();
  await page.getByRole('row', { name: /Quickdial/ }).getByRole('link', { name: 'Open' }).click();
  await expect(page.getByText('This customer is suspended')).toBeVisible();
});

test('every tab of a customer shows what the team may see @phone @dark', async ({ page, request }) => {
  const { id } = await find(await apiAs(request, people.admin), 'Kanaal');
  await signInAs(page, people.admin, `/team/customers/${id}`);
  await expect(page.getByText('Earnings')).toBeVisible();
  await expect(page.getByText(/at the pace of the last 7 days/)).toBeVisible();
  await expectAccessible(page);
  const tabs = page.getByRole('navigation', { name: 'Sections' });
  const seen: [string, string][] = [
    ['Calls', 'Answered'],
    ['Trunks', 'Main'],
    ['Numbers', 'Monthly rental'],
    ['Orders', 'Active'],
    ['Ledger', 'Top-up'],
    ['Invoices', 'Download PDF'],
    ['Payments', 'Completed'],
    ['Users', people.live],
    ['API keys', 'No API keys'],
    ['Webhooks', 'No webhook endpoints'],
    ['Limits', 'Fraud caps'],
    ['Rate plan', 'Notice of increases'],
    ['Notes', 'Add note'],
    ['VAT', 'VAT decision'],
  ];
  for (const [tab, text] of seen) {
    await tabs.getByRole('link', { name: tab, exact: true }).click();
    await expect(tabs.getByRole('link', { name: tab, exact: true })).toHaveAttribute('aria-current', 'page');
    if (tab === 'Calls') await page.getByLabel('Called number begins with').fill('+324');
    if (tab === 'Ledger') await page.getByLabel('Kind').selectOption('Top-up');
    await expect(page.getByText(text).filter({ visible: true }).first()).toBeVisible();
    await expectAccessible(page);
  }
  // The last tab is beyond the edge of a phone, until the row is scrolled to it.
  await page.reload();
  await expect(tabs.getByRole('link', { name: 'VAT', exact: true })).toBeInViewport({ ratio: 0.9 });
});

test('a customer is suspended with a reason, and reinstated', async ({ page, request }) => {
  const customer = await apiAs(request, people.german);
  const { id } = await find(await apiAs(request, people.admin), 'Rheinruf');
  await signInAs(page, people.admin, `/team/customers/${id}`);
  await page.getByRole('button', { name: 'Suspend' }).click();
  const dialog = page.getByRole('dialog', { name: 'Suspend Rheinruf GmbH?' });
  await expect(dialog).toContainText('Every new call is denied at once');
  await dialog.getByLabel('Reason').fill('Complaints about unwanted calls');
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Suspend customer' }).click();
  await expect(page.getByText('Reason: Complaints about unwanted calls')).toBeVisible();
  expect((await customer.get('/account')).onboarding_status).toBe('suspended');
  await page.getByRole('button', { name: 'Reinstate' }).click();
  await expect(page.getByRole('dialog')).toContainText('The status returns to “Approved”');
  await page.getByRole('button', { name: 'Reinstate customer' }).click();
  await expect(page.getByText('This customer is suspended')).toBeHidden();
  expect((await customer.get('/account')).onboarding_status).toBe('approved');
});

async function credit(page: Page, amount: string, reason: string) {
  await page.getByRole('button', { name: 'Credit', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Amount').fill(amount);
  await dialog.getByLabel('Reason').fill(reason);
  return dialog;
}

test('a credit is posted; one above the limit becomes a request for a second admin', async ({ page, request }) => {
  const admin = await apiAs(request, people.admin);
  const customer = await find(admin, 'Thames');
  await signInAs(page, people.admin, `/team/customers/${customer.id}`);
  let dialog = await credit(page, '10', 'Bad line');
  await expect(dialog).toContainText('Balance afterwards');
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Credit customer' }).click();
  await expect(page.getByText('The balance was changed.')).toBeVisible();
  expect((await find(admin, 'Thames')).balance.amount_minor).toBe(customer.balance.amount_minor + 1000);

  dialog = await credit(page, '123456789.50', 'Bonus');
  await dialog.getByLabel('Amount').fill('5000');
  await dialog.getByRole('button', { name: 'Credit customer' }).click();
  await expect(dialog.getByText('A second admin has to approve this')).toBeVisible();
  await dialog.getByRole('button', { name: 'Request credit' }).click();
  await expect(page.getByText('The credit request waits for another admin.')).toBeVisible();
  expect((await admin.get('/admin/credit-requests')).data[0]).toMatchObject({ status: 'pending', reason: 'Bonus', amount: { amount_minor: 500_000 } });
});

test('two people who change the same limits see both versions', async ({ page, request }) => {
  const admin = await apiAs(request, people.admin);
  const { id } = await find(admin, 'Bonjour');
  const euros = (amount_minor: number) => ({ amount_minor, currency: 'EUR' });
  await signInAs(page, people.admin, `/team/customers/${id}/limits`);
  await page.getByRole('button', { name: 'Change balance limits' }).click();
  const dialog = page.getByRole('dialog', { name: 'Change balance limits' });
  await dialog.getByLabel('Warning threshold').fill('75');
  await admin.put(`/admin/customers/${id}/balance-limits`, { minimum: euros(0), soft_warn_threshold: euros(3000) });
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(dialog.getByText('Somebody else changed this meanwhile')).toBeVisible();
  await expect(dialog.getByRole('row', { name: /Warning threshold/ })).toContainText('€75.00');
  await expect(dialog.getByRole('row', { name: /Warning threshold/ })).toContainText('€30.00');
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('The limits were changed.')).toBeVisible();
  expect((await admin.get(`/admin/customers/${id}/balance-limits`)).soft_warn_threshold.amount_minor).toBe(7500);

  await page.getByRole('button', { name: 'Change zone quotas' }).click();
  const quotas = page.getByRole('dialog', { name: 'Change zone quotas' });
  await quotas.getByRole('textbox').first().fill('12');
  await quotas.getByRole('button', { name: 'Save' }).click();
  await expect(quotas).toBeHidden();
  expect((await admin.get(`/admin/customers/${id}/quotas`)).data[0].limit).toBe(12);
});

test('a credit line above the limit becomes a request', async ({ page, request }) => {
  const admin = await apiAs(request, people.admin);
  const { id } = await find(admin, 'Northwind');
  await signInAs(page, people.admin, `/team/customers/${id}/limits`);
  await page.getByRole('button', { name: 'Change balance limits' }).click();
  const dialog = page.getByRole('dialog', { name: 'Change balance limits' });
  await dialog.getByLabel('Minimum balance').fill('-20000');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(dialog.getByText('A second admin has to approve this credit line')).toBeVisible();
  await dialog.getByLabel('Reason').fill('Pays by invoice');
  await dialog.getByRole('button', { name: 'Request credit line' }).click();
  await expect(page.getByText('The credit request waits for another admin.')).toBeVisible();
  expect((await admin.get('/admin/credit-requests')).data[0]).toMatchObject({ kind: 'credit_line', amount: { amount_minor: 2_000_000 } });
});

test('a user is deactivated and reactivated, and signed out', async ({ page, request }) => {
  const { id } = await find(await apiAs(request, people.admin), 'Polder');
  await signInAs(page, people.admin, `/team/customers/${id}/users`);
  const menu = page.getByRole('button', { name: /^Actions for/ });
  await menu.click();
  await page.getByRole('menuitem', { name: 'Sign out everywhere' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Sign out everywhere' }).click();
  await expect(page.getByText(/was signed out/)).toBeVisible();
  await menu.click();
  await page.getByRole('menuitem', { name: 'Deactivate' }).click();
  await page.getByLabel('Revoke the API keys').check();
  await expectAccessible(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click();
  await expect(page.getByRole('row').last()).toContainText('Deactivated');
  await menu.click();
  await page.getByRole('menuitem', { name: 'Reactivate' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Reactivate' }).click();
  await expect(page.getByRole('row').last()).toContainText('Active');
});

test('a network is vouched for and deleted, and an inbound host allowed and withdrawn', async ({ page, request }) => {
  const customer = await apiAs(request, people.live);
  const [trunk] = (await customer.get('/trunks')).data;
  await customer.post(`/trunks/${trunk.id}/ip-allow-list`, { cidr: '203.0.113.64/27', note: 'Rechenzentrum' });
  const { id } = await find(await apiAs(request, people.admin), 'Kanaal');
  await signInAs(page, people.admin, `/team/customers/${id}/trunks`);
  await page.getByRole('row', { name: /Main/ }).getByRole('button', { name: 'Open' }).click();
  const drawer = page.getByRole('dialog').first();
  const row = drawer.getByRole('row', { name: /203\.0\.113\.64/ });
  await expect(row).toContainText('Pending');
  await expectAccessible(page);
  await row.getByRole('button', { name: 'Verify' }).click();
  await page.getByRole('dialog', { name: 'Vouch for 203.0.113.64/27?' }).getByRole('button', { name: 'Verify' }).click();
  await expect(row).toContainText('Verified');
  await row.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog', { name: 'Delete 203.0.113.64/27?' }).getByRole('button', { name: 'Delete' }).click();
  await expect(row).toBeHidden();

  await drawer.getByRole('button', { name: 'Allow inbound host' }).click();
  await expect(drawer.getByLabel('Allowed inbound host')).toHaveValue(/kanaal/);
  await drawer.getByLabel('Allowed inbound host').fill('pbx.partner.example');
  await drawer.getByRole('button', { name: 'Allow inbound host' }).click();
  await expect(drawer.getByText('pbx.partner.example')).toBeVisible();
  await drawer.getByRole('button', { name: 'Withdraw' }).click();
  await page.getByRole('dialog', { name: /Withdraw the permission/ }).getByRole('button', { name: 'Withdraw' }).click();
  await expect(drawer.getByText('pbx.partner.example', { exact: true })).toBeHidden();
});

test('the VAT decision, the account manager and a note are changed', async ({ page, request }) => {
  const admin = await apiAs(request, people.admin);
  const { id } = await find(admin, 'Lagos');
  await signInAs(page, people.admin, `/team/customers/${id}/vat`);
  await page.getByRole('button', { name: 'Change VAT decision' }).click();
  await page.getByLabel('VAT status').selectOption('Exempt');
  await page.getByLabel('Telecom reseller').check();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('The VAT decision was changed.')).toBeVisible();
  expect(await admin.get(`/admin/customers/${id}`)).toMatchObject({ vat_status: 'exempt', vat_treatment: null, telecom_reseller: true });

  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Assign account manager' }).click();
  await page.getByRole('dialog').getByLabel('Account manager').selectOption('Maud Manager');
  await page.getByRole('dialog').getByRole('button', { name: 'Assign' }).click();
  await expect(page.getByText('The account manager was assigned.')).toBeVisible();

  await page.getByRole('link', { name: 'Notes', exact: true }).click();
  await page.getByRole('textbox', { name: 'Note' }).fill('Antwortet nur abends.\nاتصل غدا');
  await page.getByRole('button', { name: 'Add note' }).click();
  await expect(page.getByRole('article')).toContainText('Ada Admin');
  await page.getByRole('link', { name: 'Overview' }).click();
  await expect(page.getByText('Maud Manager')).toBeVisible();
  await expect(page.getByRole('article')).toContainText('Antwortet nur abends.');
});

test('the portal is seen as the customer, in a tab of its own and read-only', async ({ page, request, context }) => {
  const { id } = await find(await apiAs(request, people.admin), 'Kanaal');
  await signInAs(page, people.admin, `/team/customers/${id}`);
  await page.getByRole('button', { name: 'View as customer' }).click();
  await page.getByLabel('Reason').fill('Ticket about the balance');
  const opened = context.waitForEvent('page');
  await page.getByRole('button', { name: 'Open customer’s portal' }).click();
  const tab = await opened;
  await expect(tab.getByRole('heading', { level: 1 })).toBeVisible();
  expect(tab.url()).not.toContain('token');
  await expect(tab.getByText('You see the portal of Kanaal Contact BV as its user does. Nothing can be changed.')).toBeVisible();
  await expect(tab.getByRole('timer')).toHaveText(/^Ends in 14:/);
  await expectAccessible(tab);
  await tab.getByRole('navigation', { name: 'Main menu' }).getByRole('link', { name: 'Trunks', exact: true }).click();
  await expect(tab.getByRole('button', { name: 'Create trunk' })).toHaveAttribute('aria-disabled', 'true');
  await tab.goto('about:blank');
  await expect(page.getByRole('heading', { name: 'Kanaal Contact BV', level: 1 })).toBeVisible();
});
