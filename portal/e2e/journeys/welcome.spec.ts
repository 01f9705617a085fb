// From an empty installation to a portal with data in it.
import { totp } from '../totp';
import { expect, expectAccessible, PASSWORD, test } from '../world';

test.use({ data: 'empty' });

test('the printed link creates the first admin with a second factor, and fills in demo data @postgres', async ({ page, service }) => {
  test.setTimeout(400_000);
  await page.goto('/sign-in');
  await expect(page.getByText('This installation has no admin yet')).toBeVisible();
  await page.goto(`/welcome#token=${service.bootstrapToken()}`);
  await expect(page.getByRole('heading', { name: 'Welcome to Trunkline' })).toBeVisible();
  expect(page.url()).not.toContain('token');
  await expectAccessible(page);
  await page.getByLabel('Legal name of the operator').fill('Noordlijn Carrier BV');
  await page.getByLabel('Your name').fill('Ada Admin');
  await page.getByLabel('Your email').fill('ada@noordlijn.example');
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByLabel('Repeat the password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Create admin' }).click();

  await expect(page.getByRole('heading', { name: 'Set up a second factor' })).toBeVisible();
  const secret = (await page.getByRole('button', { name: /^Copy [A-Z2-7]{16,}$/ }).innerText()).trim();
  await expectAccessible(page);
  await page.getByLabel('Code from the app').fill(totp(secret));
  await page.getByRole('button', { name: 'Turn on' }).click();
  await expect(page.getByRole('heading', { name: 'Save your recovery codes' })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Continue' })).toHaveAttribute('aria-disabled', 'true');
  await page.getByLabel('I have saved the codes in a safe place').check();
  await page.getByRole('button', { name: 'Continue' }).click();

  await expect(page.getByRole('heading', { name: 'Try it with demo data?' })).toBeVisible();
  await page.getByRole('button', { name: 'Fill with demo data' }).click();
  await expect(page.getByRole('progressbar')).toBeVisible();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Open the portal' }).click({ timeout: 300_000 });
  await expect(page.getByRole('heading', { name: 'Today', level: 1 })).toBeVisible();
  await page.goto('/team/customers');
  await expect(page.getByRole('row').nth(3)).toBeVisible();

  await page.goto('/welcome#token=again');
  await expect(page.getByRole('heading', { name: 'This installation has an admin' })).toBeVisible();
});
