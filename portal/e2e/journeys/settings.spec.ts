// Settings: company, VAT, limits, people, API keys, webhooks and one's own security.
import { createHmac } from 'node:crypto';
import { startReceiver } from '../receiver';
import { totp } from '../totp';
import { apiAs, expect, expectAccessible, PASSWORD, people, signInAs, signInByLink, test, type Page } from '../world';

const secretOf = (page: Page, label: string) => page.getByRole('region', { name: label }).innerText();

test('a conflict of two people shows both versions and overwrites nothing by accident @phone', async ({ page, request }) => {
  await signInAs(page, people.live, '/settings/company');
  await page.getByLabel('Company name').fill('Kanaal Contact Europe BV');
  const other = await apiAs(request, people.live);
  await other.patch('/account', { company_name: 'Kanaal Contact Groep BV' });
  await page.getByRole('button', { name: 'Save company' }).click();
  await expect(page.getByText('Somebody else changed this meanwhile')).toBeVisible();
  const row = page.getByRole('row', { name: /Company name/ });
  await expect(row).toContainText('Kanaal Contact Europe BV');
  await expect(row).toContainText('Kanaal Contact Groep BV');
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Keep mine' }).click();
  await page.getByRole('button', { name: 'Save company' }).click();
  await expect(page.getByText('The company was saved.')).toBeVisible();
  expect((await other.get('/account')).company_name).toBe('Kanaal Contact Europe BV');
});

test('a wrong field of an address is said at that field', async ({ page }) => {
  await signInAs(page, people.german, '/settings/company');
  await page.getByLabel('Invoices go to another address').check();
  await page.getByRole('button', { name: 'Save company' }).click();
  await expect(page.locator('[name="invoice_address.line1"]')).toHaveAttribute('aria-invalid', 'true');
  await expect(page.locator('[name="invoice_address.line1"]')).toBeFocused();
});

test('a VAT id is changed and checked, and evidence is uploaded', async ({ page }) => {
  await signInAs(page, people.german, '/settings/vat');
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Change VAT id' }).click();
  await page.getByRole('dialog').getByLabel('VAT id').fill('DE136695976');
  await expect(page.getByText('A new VAT id resets the status')).toBeVisible();
  await page.getByRole('button', { name: 'Save VAT id' }).click();
  await expect(page.getByRole('dialog')).toHaveCount(0);
  await page.getByRole('button', { name: 'Check VAT id' }).click();
  await expect(page.getByText(/^Valid$/)).toBeVisible({ timeout: 20_000 });
  const pdf = Buffer.from('%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n');
  await page.getByLabel('Upload VAT evidence').setInputFiles({ name: 'evidence.pdf', mimeType: 'application/pdf', buffer: pdf });
  await expect(page.getByText('1 document was uploaded.')).toBeVisible();
  await page.getByLabel('Upload VAT evidence').setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('no document') });
  await expect(page.getByRole('alert')).toContainText('PDF, JPEG or PNG');
});

test('raising a fraud cap is spelled out before it is saved @dark', async ({ page }) => {
  await signInAs(page, people.live, '/settings/limits');
  await page.getByLabel('Maximum spend per UTC day').fill('350');
  await expect(page.getByText(/You raise the maximum spend per day from €200.00 to €350.00/)).toBeVisible();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Save fraud caps' }).click();
  await expect(page.getByText('The fraud caps were saved.')).toBeVisible();
  await expect(page.getByRole('region', { name: 'Zone quotas' }).getByText(/of 1,000/).first()).toBeVisible();
});

test('a person is invited, gets another role, is deactivated and removed @phone', async ({ page, service }) => {
  await signInAs(page, people.live, '/settings/people');
  await page.getByRole('button', { name: 'Invite person' }).click();
  await page.getByLabel('Email').fill('tom@kanaal.example');
  await page.getByLabel('Name').fill('Tom Techniek');
  await page.getByRole('radio', { name: /^Technical/ }).check();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Send invitation' }).click();
  const row = page.getByRole('row', { name: /Tom Techniek/ });
  await expect(row).toContainText('Invited');
  expect(await service.mail('tom@kanaal.example')).toContain('magic-link');

  const act = async (item: string, button: string) => {
    await page.getByRole('button', { name: 'Actions for Tom Techniek' }).click();
    await page.getByRole('menuitem', { name: item }).click();
    if (item === 'Change name or role') await page.getByRole('dialog').getByRole('radio', { name: /^Billing/ }).check();
    await page.getByRole('dialog').getByRole('button', { name: button, exact: true }).click();
  };
  await act('Change name or role', 'Save person');
  await expect(row).toContainText('Billing');
  await act('Deactivate', 'Deactivate');
  await expect(row).toContainText('Deactivated');
  await act('Reactivate', 'Reactivate');
  await act('Remove', 'Remove person');
  await expect(row).toHaveCount(0);
});

test('people who are no owners are told whom to ask', async ({ page, request, service }) => {
  const owner = await apiAs(request, people.german);
  await owner.post('/account/users', { email: 'tina@rheinruf.example', name: 'Tina Technik', account_role: 'technical' });
  await signInByLink(page, service, 'tina@rheinruf.example', '/settings/people');
  await expect(page.getByText('Only owners see and manage people')).toBeVisible();
  await page.goto('/settings/api-keys');
  await page.getByRole('button', { name: 'Create API key' }).first().click();
  await expect(page.getByLabel('billing:write')).toBeDisabled();
});

test('the secret of an API key is shown once and works from its networks only', async ({ page, request }) => {
  await signInAs(page, people.live, '/settings/api-keys');
  await page.getByRole('button', { name: 'Create API key' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Create API key' }).click();
  await expect(dialog.getByLabel('Name')).toBeFocused();
  await dialog.getByLabel('Name').fill('Nightly export');
  await dialog.getByLabel('calls:read').check();
  await dialog.getByLabel('billing:read').check();
  await dialog.getByLabel('Networks').fill('127.0.0.1/32');
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Create API key' }).click();
  const secret = await secretOf(page, 'Secret');
  expect(secret).toMatch(/^tl_test_\w{49}$/);
  await page.getByRole('button', { name: 'I have copied it' }).click();
  await expect(page.getByText(secret)).toHaveCount(0);
  const as = (token: string) => request.get('/v1/account/balance', { headers: { Authorization: `Bearer ${token}` } });
  expect((await as(secret)).status()).toBe(200);

  await page.getByRole('button', { name: 'Actions for Nightly export' }).click();
  await page.getByRole('menuitem', { name: 'Change' }).click();
  await page.getByRole('dialog').getByLabel('Networks').fill('203.0.113.0/24');
  await page.getByRole('dialog').getByRole('button', { name: 'Save API key' }).click();
  await expect(page.getByRole('dialog')).toHaveCount(0);
  await expect(page.getByText('203.0.113.0/24')).toBeVisible();
  expect((await as(secret)).status()).toBe(401);
  await page.getByRole('button', { name: 'Actions for Nightly export' }).click();
  await page.getByRole('menuitem', { name: 'Revoke' }).click();
  await page.getByRole('button', { name: 'Revoke API key' }).click();
  await expect(page.getByText('No API keys yet')).toBeVisible();
});

test('a webhook endpoint is tested, fails, is retried and replayed, and gets a new secret', async ({ page }) => {
  const receiver = await startReceiver();
  await signInAs(page, people.live, '/settings/webhooks');
  await page.getByRole('button', { name: 'Create endpoint' }).first().click();
  await page.getByLabel('URL').fill(receiver.url);
  await page.getByLabel('Description').fill('Bookkeeping');
  await page.getByRole('radio', { name: /^Only these/ }).check();
  await page.getByLabel('topup.completed').check();
  await page.getByLabel('trunk.updated').check();
  await expectAccessible(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Create endpoint' }).click();
  const secret = await secretOf(page, 'Secret');
  await page.getByRole('button', { name: 'I have copied it' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(receiver.url);

  await page.getByRole('button', { name: 'Send test event' }).click();
  const drawer = page.getByRole('dialog', { name: 'Delivery of webhook.test' });
  await expect(drawer.getByText('answer of the receiver')).toBeVisible({ timeout: 20_000 });
  await expectAccessible(page);
  const [first] = receiver.received;
  const signed = createHmac('sha256', Buffer.from(secret.replace('whsec_', ''), 'base64'));
  signed.update(`${first?.headers['webhook-id']}.${first?.headers['webhook-timestamp']}.${first?.body}`);
  expect(first?.headers['webhook-signature']).toBe(`v1,${signed.digest('base64')}`);
  receiver.status = 500;
  await drawer.getByRole('button', { name: 'Retry now' }).click();
  await expect(drawer.getByText('500').first()).toBeVisible({ timeout: 20_000 });
  await drawer.getByRole('button', { name: 'Close' }).click();
  receiver.status = 200;

  const choose = async (item: string) => {
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: item }).click();
  };
  await choose('Rotate secret');
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate secret' }).click();
  expect(await secretOf(page, 'Secret')).not.toBe(secret);
  await page.getByRole('button', { name: 'I have copied it' }).click();
  await choose('Replay events');
  await page.getByRole('dialog').getByRole('button', { name: 'Replay events' }).click();
  await expect(page.getByText(/deliveries are on their way/)).toBeVisible();
  await page.getByRole('button', { name: 'Change', exact: true }).click();
  await page.getByRole('dialog').getByLabel('Description').fill('Accounting');
  await page.getByRole('dialog').getByRole('button', { name: 'Save endpoint' }).click();
  await expect(page.getByText('Accounting')).toBeVisible();
  await choose('Disable');
  await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
  await expect(page.getByText('Disabled', { exact: true })).toBeVisible();
  await choose('Delete');
  await page.getByRole('button', { name: 'Delete endpoint' }).click();
  await expect(page.getByText('No webhook endpoints yet')).toBeVisible();
  await receiver.close();
});

test('events are filtered by type and open beside the list @phone', async ({ page }) => {
  await signInAs(page, people.live, '/settings/events');
  await page.getByLabel('Type').selectOption('invoice.issued');
  await expect(page).toHaveURL(/type=invoice\.issued/);
  await page.getByRole('region', { name: 'Events' }).getByRole('button', { name: 'Open' }).first().click();
  await expect(page.getByRole('dialog', { name: 'invoice.issued' })).toContainText('"subtotal"');
  await expectAccessible(page);
});

test('the team has keys, webhooks and events of its own', async ({ page }) => {
  await signInAs(page, people.admin, '/team/api-keys');
  await page.getByRole('button', { name: 'Create API key' }).first().click();
  await expect(page.getByLabel('admin:read')).toBeVisible();
  await page.goto('/team/webhooks');
  await expect(page.getByText('No webhook endpoints yet')).toBeVisible();
  await page.goto('/team/events');
  // Names of companies have a space, ids have none.
  await expect(page.getByRole('region', { name: 'Events' }).getByRole('link').first()).toHaveText(/\S \S/);
  await expectAccessible(page);
});

test('a second factor is set up by code, needs recovery codes to be stored, and is turned off @phone @dark', async ({ page }) => {
  await signInAs(page, people.approved, '/settings/security');
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Set up authenticator app' }).click();
  await expect(page.getByAltText(/QR code/)).toBeVisible();
  const secret = await secretOf(page, 'Or type this key');
  await page.getByLabel('Code from the app').fill('000000');
  await page.getByRole('button', { name: 'Turn on' }).click();
  await expect(page.getByText(/code is wrong/)).toBeVisible();
  await page.getByLabel('Code from the app').fill(totp(secret, -1));
  await page.getByRole('button', { name: 'Turn on' }).click();
  const codes = (await secretOf(page, 'Recovery codes')).trim().split('\n');
  expect(codes).toHaveLength(10);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'I have stored them' }).click();
  await expect(page.getByText('On', { exact: true })).toBeVisible();
  await page.getByRole('button', { name: 'New recovery codes' }).click();
  await page.getByLabel(/^Code from the app, or/).fill(totp(secret));
  await page.getByRole('dialog').getByRole('button', { name: 'New recovery codes' }).click();
  const fresh = (await secretOf(page, 'Recovery codes')).trim().split('\n');
  await page.getByRole('button', { name: 'I have stored them' }).click();
  await page.getByRole('button', { name: 'Turn off' }).click();
  await page.getByLabel(/^Code from the app, or/).fill(fresh[0] ?? '');
  await page.getByRole('dialog').getByRole('button', { name: 'Turn off' }).click();
  await expect(page.getByText('Off', { exact: true })).toBeVisible();
});

test('a passkey is added with recovery codes and deleted', async ({ page, context }) => {
  const devtools = await context.newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  const options = { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true } as const;
  await devtools.send('WebAuthn.addVirtualAuthenticator', { options });
  await signInAs(page, people.admin, '/team/profile');
  await page.getByRole('button', { name: 'Add passkey' }).click();
  await page.getByLabel('Name').fill('Work laptop');
  await page.getByRole('dialog').getByRole('button', { name: 'Add passkey' }).click();
  await page.getByRole('button', { name: 'I have stored them' }).click();
  const row = page.getByRole('row', { name: /Work laptop/ });
  await expect(row).toBeVisible();
  await expectAccessible(page);
  await row.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete passkey' }).click();
  await expect(page.getByText('No passkeys yet')).toBeVisible();
});

test('a new password signs other devices out', async ({ page, request }) => {
  const elsewhere = await apiAs(request, people.underReview);
  await signInAs(page, people.underReview, '/settings/security');
  const devices = page.getByRole('region', { name: 'Devices' });
  await expect(devices.getByText('This device')).toBeVisible();
  await page.getByLabel('Current password').fill(PASSWORD);
  await page.getByLabel('New password', { exact: true }).fill('wooden giraffe under a bridge');
  await page.getByLabel('Repeat the new password').fill('wooden giraffe');
  await page.getByRole('button', { name: 'Change password' }).click();
  await expect(page.getByText('Both must be the same.')).toBeVisible();
  await page.getByLabel('Repeat the new password').fill('wooden giraffe under a bridge');
  await page.getByRole('button', { name: 'Change password' }).click();
  await expect(page.getByText('Your password was changed.')).toBeVisible();
  await expect(elsewhere.get('/me')).rejects.toThrow('401');
  await expect(page.getByRole('button', { name: 'Sign out other devices' })).toHaveAttribute('aria-disabled', 'true');
});
