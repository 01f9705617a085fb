// From sign-up to the waitlist, and back after a rejection.
import { apiAs, expect, expectAccessible, people, signInAs, test } from '../world';
import { PDF } from '../files';

// A traffic profile or a card that is not there yet is a 404, which the step shows as "To do".
test.use({ expectedErrors: [/status of 404/] });

const REQUIRED = ['company registration', 'identity document of a director', 'proof of address'];

test('what was typed stays while a step that is not there yet is read again', async ({ page }) => {
  await signInAs(page, people.signedUp);
  const minutes = page.getByRole('region', { name: 'Traffic profile' }).getByLabel('Minutes per month');
  await minutes.fill('25000');
  const read = page.waitForRequest('**/v1/me/traffic-profile');
  await page.route('**/v1/me/traffic-profile', () => {});
  await page.evaluate(() => window.dispatchEvent(new Event('visibilitychange')));
  await read;
  await expect(minutes).toHaveValue('25000');
});

test('a new customer completes the steps in its own order and joins the waitlist', async ({ page }) => {
  await signInAs(page, people.signedUp);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(/^Welcome, /);

  const traffic = page.getByRole('region', { name: 'Traffic profile' });
  await traffic.getByLabel('Minutes per month').fill('many');
  await traffic.getByRole('button', { name: 'Save' }).click();
  await expect(traffic.getByLabel('Minutes per month')).toHaveAttribute('aria-invalid', 'true');
  await traffic.getByLabel('Minutes per month').fill('25000');
  await traffic.getByLabel('Add country').selectOption('GR');
  await traffic.getByLabel('Add country').selectOption('DE');
  await traffic.getByRole('button', { name: 'Remove Germany' }).click();
  await traffic.getByLabel('Conversations').check();
  await traffic.getByRole('button', { name: 'Save' }).click();
  await expect(traffic.getByText('25,000')).toBeVisible();
  await expect(traffic.getByText('Done')).toBeVisible();

  const documents = page.getByRole('region', { name: 'Documents of the company' });
  await expect(documents.getByRole('button', { name: 'Submit for review' })).toHaveAttribute('aria-disabled', 'true');
  for (const kind of REQUIRED) await documents.getByLabel(`Add ${kind}`).setInputFiles(PDF(`${kind}.pdf`));
  await expect(documents.getByText('Missing', { exact: true })).toHaveCount(0);
  await expectAccessible(page);
  await documents.getByRole('button', { name: 'Submit for review' }).click();
  await expect(documents.getByText('The documents are submitted.').first()).toBeVisible();

  const card = page.getByRole('region', { name: 'Card verification' });
  await card.getByRole('button', { name: 'Verify a card' }).click();
  await expect(page).toHaveURL(/\/checkout\//);
  await page.getByLabel('Card number').fill('4242424242424242');
  await page.getByRole('button', { name: 'Save card' }).click();
  await page.waitForURL(/\/onboarding/);
  await expect(page.getByRole('region', { name: 'Card verification' }).getByText('Done')).toBeVisible({ timeout: 20_000 });
  await expect(page.getByText('You are on the waitlist')).toBeVisible();
  await expect(page.getByText(/^Position \d+ of \d+$/)).toBeVisible();
});

test('the company is saved on its own, and a second change in another tab is shown beside mine', async ({ page, request }) => {
  await signInAs(page, people.waiting, '/onboarding');
  const company = page.getByRole('region', { name: 'Company', exact: true });
  await company.getByRole('button', { name: 'Edit' }).click();
  await company.getByLabel('Contact person', { exact: true }).fill('Frida F. Fjord');
  const other = await apiAs(request, people.waiting);
  await other.patch('/me/account', { trading_name: 'Fjord' });
  await company.getByRole('button', { name: 'Save' }).click();
  const conflict = company.getByRole('table');
  await expect(conflict.getByRole('row', { name: /Trading name/ })).toContainText('Fjord');
  await company.getByRole('button', { name: 'Keep mine' }).click();
  await company.getByRole('button', { name: 'Save' }).click();
  await expect(company.getByText('Frida F. Fjord')).toBeVisible();
});

test('a file of the wrong kind is refused where it was dropped', async ({ page }) => {
  await signInAs(page, people.rejected, '/onboarding');
  const slot = page.getByRole('region', { name: 'Proof of address' });
  await slot.getByLabel('Add proof of address').setInputFiles({ name: 'scan.pdf', mimeType: 'application/pdf', buffer: Buffer.from('no pdf') });
  await expect(slot.getByRole('alert')).toBeVisible();
  await slot.getByRole('button', { name: 'Dismiss' }).click();
  await expect(slot.getByRole('alert')).toHaveCount(0);
});

test('after a rejection the note of the reviewer is shown and the documents are submitted again @phone @dark', async ({ page }) => {
  await signInAs(page, people.rejected, '/onboarding');
  const documents = page.getByRole('region', { name: 'Documents of the company' });
  await expect(documents.getByText('Your last documents were rejected')).toBeVisible();
  await expect(documents.getByText('The company registration is older than three months.')).toBeVisible();
  for (const kind of REQUIRED) {
    const slot = documents.getByLabel(`Add ${kind}`);
    await slot.setInputFiles(PDF('scan.pdf'));
  }
  await expect(documents.getByText('Missing', { exact: true })).toHaveCount(0);
  await documents.getByRole('button', { name: 'Delete' }).first().click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await expect(documents.getByText('Missing', { exact: true })).toHaveCount(1);
  await documents.getByLabel('Add company registration').setInputFiles(PDF('register.pdf'));
  await expect(documents.getByText('Missing', { exact: true })).toHaveCount(0);
  await expectAccessible(page);
  await documents.getByRole('button', { name: 'Submit again' }).click();
  await expect(page.getByText('Your documents are under review')).toBeVisible();
});

test('a customer on the waitlist sees its position', async ({ page }) => {
  await signInAs(page, people.waiting);
  await expect(page.getByText('You are on the waitlist')).toBeVisible();
  await expect(page.getByText(/^Position \d+ of \d+$/)).toBeVisible();
});
