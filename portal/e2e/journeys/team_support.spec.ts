// Tickets, notices and account managers of the team.
import { apiAs, expect, expectAccessible, people, signInAs, signInByLink, test } from '../world';

test.use({ expectedErrors: [/status of 409/] });

test('a ticket is found by age, answered, resolved and reopened by the customer @phone @dark @postgres @core', async ({ page, request }) => {
  const customer = await apiAs(request, people.live);
  const [call] = (await customer.get('/cdrs?limit=1')).data;
  const subject = 'Gesprächsabbrüche nach dreißig Sekunden – bitte prüfen';
  const ticket = await customer.post('/tickets', { subject, body: 'مرحبا, calls end after half a minute.', priority: 'high', cdr_ids: [call.id], request_id: 'req-42' });

  await signInAs(page, people.admin, '/team/tickets');
  await expect(page.getByRole('row').last()).toContainText(subject);
  await expectAccessible(page);
  await page.getByRole('row', { name: subject }).getByRole('link', { name: 'Open' }).click();
  await expect(page.getByRole('heading', { name: subject, level: 1 })).toBeVisible();
  await expect(page.getByText('req-42')).toBeVisible();
  await expect(page.getByRole('link', { name: 'Kanaal Contact BV' })).toBeVisible();
  await expectAccessible(page);
  await page.getByRole('textbox', { name: 'Reply' }).fill('We see it, and mend it today.');
  await page.getByLabel('Resolve the ticket with this reply').check();
  await page.getByRole('button', { name: 'Send reply' }).click();
  await expect(page.getByText('The reply was sent and the ticket is resolved.')).toBeVisible();
  await expect(page.getByRole('list', { name: 'Messages' })).toContainText('We see it, and mend it today.');
  expect((await customer.get(`/tickets/${ticket.id}`)).status).toBe('resolved');

  await customer.post(`/tickets/${ticket.id}/messages`, { body: 'It is back.' });
  await expect(page.getByText('It is back.')).toBeVisible({ timeout: 40_000 });
  await page.getByRole('button', { name: 'Change priority' }).click();
  await page.getByRole('menuitemradio', { name: 'Set priority to low' }).click();
  await expect(page.getByText('The priority was changed.')).toBeVisible();
  await page.getByRole('button', { name: 'Close', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Close', exact: true }).last().click();
  await expect(page.getByText('This ticket is closed.').last()).toBeVisible();
});

test('a notice is planned, edited and deleted', async ({ page, request }) => {
  await signInAs(page, people.admin, '/team/notices');
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Create notice' }).click();
  const dialog = page.getByRole('dialog', { name: 'Create notice' });
  await dialog.getByLabel('Title').fill('Work on Monday');
  await dialog.getByLabel('Text').fill('Between 02:00 and 03:00.');
  await dialog.getByLabel('Warning').check();
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Create notice' }).click();
  const row = page.getByRole('row', { name: /Work on Monday/ });
  await expect(row).toContainText('In force');
  const customer = await apiAs(request, people.live);
  expect((await customer.get('/notices')).data.map((notice: { title: string }) => notice.title)).toContain('Work on Monday');

  await row.getByRole('button', { name: 'Edit' }).click();
  const edit = page.getByRole('dialog', { name: 'Edit notice' });
  await edit.getByLabel('Shown from').fill('2099-01-01T00:00');
  const admin = await apiAs(request, people.admin);
  const { id } = (await admin.get('/admin/notices')).data.find((notice: { title: string }) => notice.title === 'Work on Monday');
  await admin.patch(`/admin/notices/${id}`, { body: 'Between 02:00 and 04:00.' });
  await edit.getByRole('button', { name: 'Save' }).click();
  await expect(edit.getByText('Somebody else changed this meanwhile')).toBeVisible();
  await expect(edit.getByRole('row', { name: /^Text/ })).toContainText('Between 02:00 and 04:00.');
  await expectAccessible(page);
  await edit.getByRole('button', { name: 'Save' }).click();
  // It has a row of the same name while it is open.
  await expect(edit).toBeHidden();
  await expect(row).toContainText('Planned');
  await row.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await expect(row).toBeHidden();
});

test('an account manager is added, changed and leads to its customers', async ({ page }) => {
  await signInAs(page, people.admin, '/team/managers');
  await page.getByRole('button', { name: 'Add account manager' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add account manager' });
  await dialog.getByLabel('Name').fill('Mira Manager');
  await dialog.getByLabel('Email').fill('maud@carrier.example');
  await dialog.getByRole('button', { name: 'Add' }).click();
  await expect(dialog.getByRole('alert').first()).toBeVisible();
  await dialog.getByLabel('Email').fill('mira@carrier.example');
  await dialog.getByRole('button', { name: 'Add' }).click();
  const row = page.getByRole('row', { name: /Mira Manager/ });
  await row.getByRole('button', { name: 'Edit' }).click();
  await page.getByLabel('Active', { exact: true }).uncheck();
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(row).toContainText('Inactive');
  await expectAccessible(page);
  await page.getByRole('row', { name: /Maud Manager/ }).getByRole('link', { name: 'Show customers' }).click();
  await expect(page.getByRole('row', { name: /Kanaal/ })).toBeVisible();
});

test('support answers tickets and reads the rest, with the reason why not', async ({ page, request, service }) => {
  const admin = await apiAs(request, people.admin);
  await admin.post('/admin/users', { email: 'sina@carrier.example', name: 'Sina Support', roles: ['support'] });
  await signInByLink(page, service, 'sina@carrier.example', '/team/notices');
  const create = page.getByRole('button', { name: 'Create notice' });
  await expect(create).toHaveAttribute('aria-disabled', 'true');
  await expect(create).toHaveAccessibleDescription('Only an admin can do this.');
  await page.goto('/team/tickets?status=any');
  await page.getByRole('link', { name: 'Open' }).first().click();
  await expect(page.getByRole('button', { name: 'Change priority' })).toBeVisible();
  await page.goto('/team/customers');
  await page.getByRole('row', { name: /Kanaal/ }).getByRole('link', { name: 'Open' }).click();
  for (const name of ['Suspend', 'Credit', 'View as customer'])
    await expect(page.getByRole('button', { name, exact: true })).toHaveAttribute('aria-disabled', 'true');
  await expectAccessible(page);
  await page.getByRole('link', { name: 'Notes', exact: true }).click();
  await page.getByRole('textbox', { name: 'Note' }).fill('Prefers to be called in the morning.');
  await page.getByRole('button', { name: 'Add note' }).click();
  await expect(page.getByRole('article')).toContainText('Sina Support');
});
