// Documents of a number order: uploaded, returned by the team, submitted again.
import { apiAs, expect, expectAccessible, people, signInAs, test } from '../world';
import { PDF } from '../files';

test('documents are uploaded, one is rejected, replaced and submitted again @phone @dark', async ({ page, request }) => {
  const customer = await apiAs(request, people.live);
  const team = await apiAs(request, people.admin);
  const [group] = (await customer.get('/numbers/inventory?country=NL&regulatory=docs_required')).data;
  const [trunk] = (await customer.get('/trunks')).data;
  const order = await customer.post('/numbers/orders', { inventory_id: group.id, trunk_id: trunk.id });
  const id = order.compliance_intake_id;

  await signInAs(page, people.live, '/documents');
  await expectAccessible(page);
  await page.getByRole('row', { name: /Documents missing/ }).first().click();
  await expect(page).toHaveURL(`/documents/${id}`);
  await expect(page.getByRole('button', { name: /^Submit for review/ })).toHaveAttribute('aria-disabled', 'true');
  await page.getByLabel('Add proof of address').setInputFiles(PDF('Stromrechnung Donaudampfschifffahrtsgesellschaft.pdf'));
  await page.getByLabel('Add identity document of a director').setInputFiles(PDF('جواز سفر.pdf'));
  await expect(page.getByText('Missing', { exact: true })).toHaveCount(0);
  await expectAccessible(page);
  await page.getByRole('button', { name: /^Submit for review/ }).click();
  await expect(page.getByText('The documents are submitted. You get a mail')).toBeVisible();

  const intake = await customer.get(`/compliance/intakes/${id}`);
  await team.post(`/admin/compliance/intakes/${id}/review`);
  const bill = intake.documents.find((document: { kind: string }) => document.kind === 'proof_of_address');
  await team.patch(`/admin/compliance/intakes/${id}/documents/${bill.id}`, { status: 'rejected', reject_reason: 'The bill is of another company.' });
  await team.post(`/admin/compliance/intakes/${id}/request-more`, { note: 'Please send a bill in your name.' });
  await page.reload();
  await expect(page.getByText('The bill is of another company.')).toBeVisible();
  await expect(page.getByText('Please send a bill in your name.')).toBeVisible();
  await expect(page.getByText('Missing', { exact: true })).toHaveCount(1);
  await page.getByLabel('Add proof of address').setInputFiles(PDF('bill.pdf'));
  await expect(page.getByText('Missing', { exact: true })).toHaveCount(0);
  await page.getByRole('button', { name: /^Submit for review/ }).click();
  await expect(page.getByText('The documents are submitted. You get a mail')).toBeVisible();
  await team.post(`/admin/compliance/intakes/${id}/approve`, {});
  await page.reload();
  await expect(page.getByText('The documents are approved.')).toBeVisible();
});

test('the documents of the company are shown, and changed in onboarding', async ({ page }) => {
  await signInAs(page, people.live, '/documents');
  await page.getByRole('row', { name: /Company verification/ }).first().click();
  await expect(page.getByRole('heading', { name: 'Company verification', level: 1 })).toBeVisible();
  await expect(page.getByLabel(/^Add /)).toHaveCount(0);
});
