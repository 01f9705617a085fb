import { apiAs, expect, expectAccessible, people, signInAs, signInByLink, test, type Page } from '../world';
import type { Service } from '../service';

/** Opens a screen as the support member of the demo, who has no password, by the link of an invitation. */
async function signInAsSupport(page: Page, service: Service, path: string): Promise<void> {
  const admin = await apiAs(page.request, people.admin);
  const email = `support-${Date.now()}@carrier.example`;
  await admin.post('/admin/users', { email, name: 'Sofia Support', roles: ['support'] });
  await signInByLink(page, service, email, path);
}

test('a member is invited, gets another role, is deactivated and comes back', async ({ page }) => {
  await signInAs(page, people.admin, '/team/people');
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Invite member' }).click();
  const form = page.getByRole('dialog', { name: 'Invite member' });
  await form.getByLabel('Email').fill('nadia@carrier.example');
  await form.getByLabel('Full name').fill('Nadia Network');
  await expectAccessible(page);
  await form.getByRole('button', { name: 'Send invitation' }).click();
  const row = page.getByRole('row', { name: /Nadia Network/ });
  await expect(row).toContainText('Support');

  await row.getByRole('button', { name: 'Actions for Nadia Network' }).click();
  await expect(page.getByRole('menuitem', { name: /Reset second factor/ })).toHaveAttribute('aria-disabled', 'true');
  await page.getByRole('menuitem', { name: 'Change roles' }).click();
  await page.getByRole('dialog').getByLabel('Admin').check();
  await page.getByRole('dialog').getByRole('button', { name: 'Change roles' }).click();
  await expect(row).toContainText('Admin, Support');

  await row.getByRole('button', { name: 'Actions for Nadia Network' }).click();
  await page.getByRole('menuitem', { name: 'Deactivate' }).click();
  const question = page.getByRole('dialog', { name: 'Deactivate Nadia Network?' });
  await expect(question).toContainText('All sessions end at once');
  await question.getByRole('button', { name: 'Deactivate' }).click();
  await expect(row).toContainText('Deactivated');
  await row.getByRole('button', { name: 'Actions for Nadia Network' }).click();
  await page.getByRole('menuitem', { name: 'Reactivate' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Reactivate' }).click();
  await expect(row).toContainText('Active');
});

test('the audit log shows both values of a change, and its filters are in the address', async ({ page, request }) => {
  const admin = await apiAs(request, people.admin);
  const { data } = await admin.get('/admin/customers?q=Kanaal');
  await admin.patch(`/admin/customers/${data[0].id}`, { telecom_reseller: !data[0].telecom_reseller });
  await signInAs(page, people.admin, '/team/audit');
  await page.getByLabel('Action', { exact: true }).fill('customer.update');
  await page.getByLabel('Action', { exact: true }).press('Enter');
  await expect(page).toHaveURL(/action=customer\.update/);
  await page.getByLabel('About customer').fill('Kanaal');
  await page.getByRole('listbox', { name: 'Customers' }).getByRole('option').first().click();
  await expect(page).toHaveURL(/account_id=/);
  await page.getByRole('region', { name: 'Audit log' }).getByRole('button', { name: 'Open' }).first().click();
  const entry = page.getByRole('dialog', { name: 'Customer update' });
  const change = entry.getByRole('row', { name: /telecom_reseller/ });
  await expect(change).toContainText('true');
  await expect(change).toContainText('false');
  await expectAccessible(page);
  await page.reload();
  await expect(entry).toBeVisible();
  await entry.getByRole('button', { name: 'Show all of this user' }).click();
  await expect(page).toHaveURL(/user_id=usr_/);
  await expect(page).not.toHaveURL(/action=/);
});

test('the dashboards of the service and of security show what happened', async ({ page, request }) => {
  await request.post('/v1/auth/sign-in', { data: { email: people.live, password: 'not the password' } });
  await signInAs(page, people.admin, '/team/service');
  await expect(page.getByText('95th percentile')).toBeVisible();
  await expect(page.getByRole('figure')).toBeVisible();
  await expectAccessible(page);
  await page.getByLabel('Period').selectOption('Last hour');
  await expect(page).toHaveURL(/window=1h/);
  await page.getByRole('button', { name: 'Show as table' }).click();
  await expect(page.getByRole('region', { name: 'Requests and errors' }).getByRole('row').nth(1)).toBeVisible();
  await page.goto('/team/security');
  await expect(page.getByText('Admins without a second factor')).toBeVisible();
  await expect(page.getByRole('list', { name: 'Failed sign-ins by address' })).toBeVisible();
  await expectAccessible(page);
});

test('support reads everything and is told why it cannot change it', async ({ page, service }) => {
  await signInAsSupport(page, service, '/team/upstreams');
  const create = page.getByRole('button', { name: 'Create upstream' });
  await expect(create).toHaveAttribute('aria-disabled', 'true');
  await expect(create).toHaveAccessibleDescription('Only an admin can do this.');
  for (const [path, name] of [
    ['/team/stock', 'Import numbers'],
    ['/team/fx', 'Set rates'],
    ['/team/credits', 'Credit a customer'],
    ['/team/people', 'Invite member'],
  ] as const) {
    await page.goto(path);
    await expect(page.getByRole('button', { name })).toHaveAttribute('aria-disabled', 'true');
  }
  await page.goto('/team/payments?status=completed');
  // The newest payments are disputed, and nobody can refund those.
  await page.getByRole('row', { name: /Thames Telecom/ }).first().getByRole('button', { name: 'Open' }).click();
  await expect(page.getByRole('dialog').getByRole('button', { name: /^Refund/ })).toHaveAttribute('aria-disabled', 'true');
});

test('what the operator sees in the dark @dark', async ({ page }) => {
  test.slow();
  await signInAs(page, people.admin, '/team/people');
  for (const path of ['/team/security', '/team/service', '/team/audit?outcome=failure', '/team/margin']) {
    await expectAccessible(page);
    await page.goto(path);
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  }
  await expectAccessible(page);
});
