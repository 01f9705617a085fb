// Signups of the private beta, onboarding and dunning.
import { apiAs, expect, expectAccessible, people, signInAs, test } from '../world';

test('the first of the waitlist is approved by keyboard with a note, the next comes up and is declined @phone @dark', async ({ page, service }) => {
  await signInAs(page, people.admin, '/team/waitlist');
  await expect(page.getByRole('row').nth(1)).toContainText('Fjord Desk AS');
  await expectAccessible(page);
  await page.getByRole('row', { name: /Fjord Desk AS/ }).getByRole('link', { name: 'Open' }).click();
  await expect(page.getByRole('heading', { name: 'Fjord Desk AS', level: 1 })).toBeVisible();
  await expectAccessible(page);

  await page.keyboard.press('a');
  const approve = page.getByRole('dialog', { name: 'Approve Fjord Desk AS?' });
  await expect(approve).toContainText(`${people.waiting} gets a mail with a sign-in link`);
  await approve.getByLabel('Note to the customer').fill('Welcome aboard.');
  await approve.getByRole('button', { name: 'Approve' }).click();
  await expect(page.getByText('Fjord Desk AS was approved.')).toBeVisible();
  expect(await service.mail(people.waiting, 'magic-link')).toContain('Welcome aboard.');

  await expect(page.getByRole('heading', { name: 'Tejo Atende Lda', level: 1 })).toBeVisible();
  await page.keyboard.press('r');
  const decline = page.getByRole('dialog', { name: 'Decline Tejo Atende Lda?' });
  await decline.getByLabel('Note to the customer').fill('We do not carry this traffic.');
  await decline.getByRole('button', { name: 'Decline' }).click();
  await expect(page.getByText('Tejo Atende Lda was declined.')).toBeVisible();
  expect(await service.mail('tiago@tejo.example')).toContain('We do not carry this traffic.');

  await page.goto('/team/waitlist?status=beta_declined');
  await expect(page.getByRole('row', { name: /Tejo Atende Lda/ })).toBeVisible();
});

test('single keys can be switched off', async ({ page }) => {
  await signInAs(page, people.admin, '/team/waitlist?status=beta_signup');
  await page.getByRole('link', { name: 'Open' }).first().click();
  await page.getByLabel('Decide by single keys').uncheck();
  await page.getByRole('heading', { level: 1 }).click();
  await page.keyboard.press('a');
  await expect(page.getByRole('dialog')).toHaveCount(0);
});

test('customers in onboarding are listed with their next step', async ({ page }) => {
  await signInAs(page, people.admin, '/team/onboarding');
  await expect(page.getByRole('row', { name: /Alpenfon AG/ })).toContainText('Waits for the team');
  await expect(page.getByRole('row', { name: /Wawel Kontakt/ })).toContainText('Has to submit documents');
  await expectAccessible(page);
  await page.getByRole('row', { name: /Alpenfon AG/ }).getByRole('link', { name: 'Open' }).click();
  await expect(page.getByRole('heading', { name: 'Alpenfon AG', level: 1 })).toBeVisible();
});

test('a customer that owes money is in dunning', async ({ page, request }) => {
  await signInAs(page, people.admin, '/team/dunning');
  await expect(page.getByText('Nobody owes anything')).toBeVisible();
  const owner = await apiAs(request, people.german);
  await owner.put('/account/auto-recharge', { ...(await owner.get('/account/auto-recharge')), enabled: false });
  const admin = await apiAs(request, people.admin);
  const [customer] = (await admin.get('/admin/customers?q=Rheinruf')).data;
  const { data: payments } = await admin.get(`/admin/payments?status=completed&customer_id=${customer.id}`);
  for (const { id } of payments) await admin.post(`/admin/payments/${id}/refund`, { reason: 'Stolen card', allow_negative: true });
  await expect(async () => {
    await page.reload();
    await expect(page.getByRole('row', { name: /Rheinruf GmbH/ })).toContainText('Negative balance', { timeout: 2000 });
  }).toPass();
  await expectAccessible(page);
});
