// KYB and documents of numbers: judged one by one, sent back, approved or rejected, with the note that is mailed.
import { apiAs, expect, expectAccessible, people, signInAs, test } from '../world';
import { PDF } from '../files';

const PNG = {
  name: 'Ausweis.png',
  mimeType: 'image/png',
  buffer: Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64'),
};

test('a document is rejected with a reason and more are requested @phone @dark', async ({ page, request, service }) => {
  await signInAs(page, people.admin, '/team/reviews');
  await expectAccessible(page);
  await page.getByRole('row', { name: /Alpenfon AG/ }).getByRole('link', { name: 'Open' }).click();
  await expect(page.getByRole('heading', { name: 'KYB of Alpenfon AG', level: 1 })).toBeVisible();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Start review' }).click();
  await expect(page.getByText('The review has begun.')).toBeVisible();

  const director = page.getByRole('article').filter({ hasText: 'Director id' });
  await director.getByRole('button', { name: 'Reject' }).click();
  await page.getByLabel('Reason').fill('The photo cannot be read.');
  await page.getByRole('dialog').getByRole('button', { name: 'Reject' }).click();
  await expect(director).toContainText('Rejected: The photo cannot be read.');
  await page.getByRole('article').filter({ hasText: 'Proof of address' }).getByRole('button', { name: 'Accept' }).click();
  await expect(page.getByRole('article').filter({ hasText: 'Proof of address' })).toContainText('Accepted');
  await expect(page.getByText('Missing: director id.', { exact: false }).first()).toBeVisible();
  await expect(page.getByRole('button', { name: 'Approve' })).toHaveAttribute('aria-disabled', 'true');

  await page.getByRole('heading', { level: 1 }).click();
  await page.keyboard.press('m');
  const dialog = page.getByRole('dialog', { name: 'Request more documents?' });
  await dialog.getByLabel('Note to the customer').fill('A sharper photo, please.');
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Request more documents' }).click();
  await expect(page.getByText('More documents were requested.')).toBeVisible();
  expect(await service.mail(people.underReview, 'sharper')).toContain('A sharper photo, please.');
  const customer = await apiAs(request, people.underReview);
  expect((await customer.get('/me/kyb')).status).toBe('open');
});

test('a verified company is approved, another one rejected, by keyboard', async ({ page, request }) => {
  await signInAs(page, people.admin, '/team/reviews?view=kyb&status=submitted');
  await expectAccessible(page);
  await page.getByRole('row', { name: /Odense Omstilling/ }).getByRole('link', { name: 'Open' }).click();
  await expect(page.getByRole('article')).toHaveCount(3);
  await page.keyboard.press('a');
  const approve = page.getByRole('dialog', { name: 'Approve these documents?' });
  await expect(approve).toContainText('Odense Omstilling ApS becomes a verified customer');
  await approve.getByRole('button', { name: 'Approve' }).click();
  await expect(page.getByText('Approved.', { exact: true })).toBeVisible();
  await expect(page.getByRole('heading', { name: /^KYB of (?!Odense)/, level: 1 })).toBeVisible();

  await page.goto('/team/reviews?view=kyb&status=submitted');
  await page.getByRole('row', { name: /Tejo Atende/ }).getByRole('link', { name: 'Open' }).click();
  await expect(page.getByRole('article')).toHaveCount(3);
  await page.keyboard.press('r');
  const reject = page.getByRole('dialog', { name: 'Reject for good?' });
  await reject.getByLabel('Note to the customer').fill('The company does not exist.');
  await reject.getByRole('button', { name: 'Reject' }).click();
  await expect(page.getByText('Rejected.', { exact: true })).toBeVisible();
  const customer = await apiAs(request, 'tiago@tejo.example');
  expect((await customer.get('/account')).onboarding_status).toBe('docs_requested');
});

test('documents of a regulated number are seen in the page, and rejected with the consequence for the order', async ({ page, request }) => {
  const customer = await apiAs(request, people.live);
  const [group] = (await customer.get('/numbers/inventory?country=NL&regulatory=docs_required')).data;
  const [trunk] = (await customer.get('/trunks')).data;
  const order = await customer.post('/numbers/orders', { inventory_id: group.id, trunk_id: trunk.id });
  const intake = await customer.get(`/compliance/intakes/${order.compliance_intake_id}`);
  const { access_token } = await (await request.post('/v1/auth/sign-in', { data: { email: people.live, password: 'correct horse battery staple' } })).json();
  for (const [index, doc_kind] of intake.required_docs.entries()) {
    const sent = await request.post(`/v1/compliance/intakes/${intake.id}/documents`, {
      headers: { Authorization: `Bearer ${access_token}`, 'Idempotency-Key': crypto.randomUUID() },
      multipart: { doc_kind, file: index === 0 ? PNG : PDF('bill.pdf') },
    });
    expect(sent.ok(), await sent.text()).toBe(true);
  }
  await customer.post(`/compliance/intakes/${intake.id}/submit`);

  await signInAs(page, people.admin, '/team/reviews?view=documents');
  await expectAccessible(page);
  await page.getByRole('row', { name: /Kanaal Contact BV Submitted/ }).getByRole('link', { name: 'Open' }).click();
  await expect(page.getByRole('heading', { name: 'Documents of Kanaal Contact BV', level: 1 })).toBeVisible();
  const image = page.getByRole('img', { name: /^Preview of/ });
  await expect(image).toBeVisible();
  expect(await image.evaluate((element: HTMLImageElement) => element.naturalWidth)).toBe(1);
  await expectAccessible(page);
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Open PDF' }).click();
  expect((await download).suggestedFilename()).toBe('bill.pdf');

  await page.getByRole('button', { name: 'Reject' }).last().click();
  const reject = page.getByRole('dialog', { name: 'Reject for good?' });
  await expect(reject).toContainText('The number order fails and is refunded.');
  await reject.getByRole('button', { name: 'Reject' }).click();
  await expect(page.getByText('Rejected.', { exact: true })).toBeVisible();
  expect((await customer.get(`/numbers/orders/${order.id}`)).status).toBe('failed');
});
