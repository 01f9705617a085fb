// Support tickets and notifications.
import { apiAs, expect, expectAccessible, people, signInAs, test } from '../world';

const ARABIC = 'لا نسمع المتصلين منذ هذا الصباح';

test('a ticket about a call goes to the team and its answer appears without reloading @phone', async ({ page, request }) => {
  const customer = await apiAs(request, people.live);
  const [call] = (await customer.get('/cdrs?limit=1&status=answered')).data;
  await signInAs(page, people.live, `/support/new?call=${call.id}`);
  await expect(page.getByRole('link', { name: /20\d\d/ })).toBeVisible();
  await page.getByRole('button', { name: 'Attach calls' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Attach', exact: true }).nth(1).click();
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByLabel('Subject').fill('One-way audio');
  await page.getByLabel('Message').fill(ARABIC);
  await page.getByLabel('High').check();
  await page.getByLabel('Request id').fill('019a85d0c1b87cc2a7a05b0c4f6ad7c1');
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Open ticket' }).click();

  await expect(page.getByRole('heading', { name: 'One-way audio', level: 1 })).toBeVisible();
  await expect(page.getByText(ARABIC)).toHaveAttribute('dir', 'auto');
  await expect(page.getByRole('list', { name: 'Attached calls' }).getByRole('listitem')).toHaveCount(2);

  const id = page.url().split('/').at(-1);
  const team = await apiAs(request, people.admin);
  await team.post(`/admin/tickets/${id}/messages`, { body: 'We moved these calls to another route.' });
  await expect(page.getByText('We moved these calls to another route.')).toBeVisible({ timeout: 20_000 });
  await expect(page.getByText('Waiting for you')).toBeVisible();

  await page.getByLabel('Reply').fill('It works again.');
  await page.getByRole('button', { name: 'Send reply' }).click();
  await expect(page.getByText('It works again.')).toBeVisible();
  await expect(page.getByText('Waiting for the team')).toBeVisible();
  await expectAccessible(page);
});

test('a closed ticket takes no replies', async ({ page }) => {
  await signInAs(page, people.live, '/support');
  await page.getByRole('region', { name: 'Tickets' }).getByRole('row').nth(1).getByRole('link').click();
  await page.getByRole('button', { name: 'Close ticket' }).click();
  await expect(page.getByText('Closing is final')).toBeVisible();
  await page.getByRole('dialog').getByRole('button', { name: 'Close ticket' }).click();
  await expect(page.getByText('This ticket is closed')).toBeVisible();
  await expect(page.getByLabel('Reply')).toHaveCount(0);
  await page.goto('/support?status=closed');
  await expect(page.getByRole('region', { name: 'Tickets' }).getByRole('row')).not.toHaveCount(1);
});

test('a suspended customer can still write to support', async ({ page }) => {
  await signInAs(page, people.suspended, '/support/new');
  await page.getByLabel('Subject').fill('Why are we suspended?');
  await page.getByLabel('Message').fill('Please tell us what to do.');
  await page.getByRole('button', { name: 'Open ticket' }).click();
  await expect(page.getByRole('heading', { name: 'Why are we suspended?', level: 1 })).toBeVisible();
});

test('notifications lead to what happened and are read by opening them @phone @dark', async ({ page }) => {
  await signInAs(page, people.live, '/notifications');
  const unread = page.getByRole('link', { name: /^Unread/ });
  await expect(unread).toContainText(/\d/);
  await expectAccessible(page);
  await page.getByRole('link', { name: 'Invoice issued' }).first().click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Invoice 20');
  await page.goto('/notifications?show=unread');
  await expect(page.getByRole('link', { name: 'Invoice issued' })).toHaveCount(0);
  await page.getByRole('button', { name: 'Mark as read' }).first().click();
  await page.getByRole('button', { name: 'Mark all as read' }).click();
  await expect(page.getByText('Nothing is unread').first()).toBeVisible();
});

test('a user chooses which notifications come by mail', async ({ page }) => {
  await signInAs(page, people.live, '/settings/notifications');
  await page.getByLabel('Rates changed').uncheck();
  await page.getByRole('button', { name: 'Save choices' }).click();
  await expect(page.getByText('Your choices were saved.')).toBeVisible();
  await page.reload();
  await expect(page.getByLabel('Rates changed')).not.toBeChecked();
  await expectAccessible(page);
});
