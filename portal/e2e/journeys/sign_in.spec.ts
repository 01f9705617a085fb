// Getting in: the form, the second factor, passkeys, and the links of mails.
import { totp } from '../totp';
import { apiAs, expect, expectAccessible, PASSWORD, people, signInAs, test, type Page } from '../world';

// Steps of the onboarding that were not begun are a 404, which they show as "To do".
test.use({ expectedErrors: [/status of 404/] });

const NEW_PASSWORD = 'wooden giraffe under a bridge';

async function signIn(page: Page, email: string, password: string): Promise<void> {
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

/** Turns on an authenticator app and returns its secret and the recovery codes. */
async function withSecondFactor(request: Parameters<typeof apiAs>[0], email: string): Promise<{ secret: string; codes: string[] }> {
  const user = await apiAs(request, email);
  const { secret } = await user.post('/me/2fa/enroll');
  const { recovery_codes } = await user.post('/me/2fa/confirm', { code: totp(secret, -1) });
  return { secret, codes: recovery_codes };
}

test('a wrong password is refused, a demo user is filled in by a click, and the wanted screen opens @core @phone @dark', async ({ page }) => {
  await page.goto('/billing/invoices?status=paid');
  await expect(page).toHaveURL(/\/sign-in\?next=/);
  await expect(page.getByLabel('Email')).toBeFocused();
  await signIn(page, people.live, 'not the password');
  await expect(page.getByRole('alert')).toBeVisible();
  await expectAccessible(page);
  await page.getByRole('region', { name: 'Demo users' }).getByRole('button', { name: new RegExp(people.live) }).click();
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await expect(page).toHaveURL('/billing/invoices?status=paid');
  await page.getByRole('button', { name: /your account$/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await expect(page.getByRole('heading', { name: 'Sign in', level: 1 })).toBeVisible();
  await page.reload();
  await expect(page.getByRole('heading', { name: 'Sign in', level: 1 })).toBeVisible();
});

test('signing in asks for a code, and a recovery code works once', async ({ page, request }) => {
  const { secret, codes } = await withSecondFactor(request, people.german);
  await page.goto('/sign-in');
  await signIn(page, people.german, PASSWORD);
  await expect(page.getByLabel('Code')).toBeFocused();
  await expectAccessible(page);
  await page.getByLabel('Code').fill('000000');
  await page.getByRole('button', { name: 'Verify' }).click();
  await expect(page.getByText(/code is wrong/)).toBeVisible();
  await page.getByLabel('Code').fill(totp(secret));
  await page.getByRole('button', { name: 'Verify' }).click();
  await expect(page.getByRole('heading', { name: 'Home', level: 1 })).toBeVisible();

  for (const works of [true, false]) {
    await page.getByRole('button', { name: /your account$/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await signIn(page, people.german, PASSWORD);
    await page.getByLabel('Code').fill(codes[0] ?? '');
    await page.getByRole('button', { name: 'Verify' }).click();
    if (works) await expect(page.getByRole('heading', { name: 'Home', level: 1 })).toBeVisible();
    else await expect(page.getByText(/code is wrong/)).toBeVisible();
  }
});

test('a passkey signs in without a password', async ({ page, context }) => {
  const devtools = await context.newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  const options = { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true } as const;
  await devtools.send('WebAuthn.addVirtualAuthenticator', { options });
  await signInAs(page, people.approved, '/settings/security');
  await page.getByRole('button', { name: 'Add passkey' }).click();
  await page.getByLabel('Name').fill('Work laptop');
  await page.getByRole('dialog').getByRole('button', { name: 'Add passkey' }).click();
  await page.getByRole('button', { name: 'I have stored them' }).click();
  await page.getByRole('button', { name: /your account$/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await expect(page.getByRole('heading', { name: 'Home', level: 1 })).toBeVisible();
});

test('a lost password is replaced by mail, and the link works once @core @postgres', async ({ page, service }) => {
  await page.goto('/sign-in');
  await page.getByRole('link', { name: 'Forgot your password?' }).click();
  await page.getByLabel('Email').fill(people.waiting);
  await page.getByRole('button', { name: 'Send link' }).click();
  await expect(page.getByRole('heading', { name: 'Check your mail' })).toBeVisible();
  const link = await service.link(people.waiting, 'reset-password');
  await page.goto(link);
  await expect(page.getByRole('heading', { name: 'Choose a new password' })).toBeVisible();
  expect(page.url()).not.toContain('token');
  await page.getByLabel('New password').fill(NEW_PASSWORD);
  await page.getByLabel('Repeat the password').fill('something else');
  await page.getByRole('button', { name: 'Save password' }).click();
  await expect(page.getByText('The passwords do not match.')).toBeVisible();
  await expectAccessible(page);
  await page.getByLabel('Repeat the password').fill(NEW_PASSWORD);
  await page.getByRole('button', { name: 'Save password' }).click();
  await expect(page.getByRole('heading', { name: 'Your password is changed' })).toBeVisible();
  await page.getByRole('link', { name: 'Sign in' }).click();
  await signIn(page, people.waiting, NEW_PASSWORD);
  await expect(page.getByText('You are on the waitlist')).toBeVisible();

  await page.goto('/forgot-password');
  await page.goto(link);
  await page.getByLabel('New password').fill(PASSWORD);
  await page.getByLabel('Repeat the password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Save password' }).click();
  await expect(page.getByRole('alert')).toBeVisible();
});

test('an invited user signs in by its mail and chooses a password @phone', async ({ page, request, service }) => {
  const owner = await apiAs(request, people.live);
  await owner.post('/account/users', { email: 'bea@kanaal.example', name: 'Bea Billing', account_role: 'billing' });
  await page.goto(await service.link('bea@kanaal.example', 'magic-link'));
  await expect(page.getByRole('heading', { name: 'Sign in', level: 1 })).toBeVisible();
  expect(page.url()).not.toContain('token');
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await expect(page.getByRole('heading', { name: 'Choose a password' })).toBeVisible();
  await page.getByLabel('New password').fill(NEW_PASSWORD);
  await page.getByLabel('Repeat the password').fill(NEW_PASSWORD);
  await page.getByRole('button', { name: 'Save password' }).click();
  await expect(page.getByRole('heading', { name: 'Home', level: 1 })).toBeVisible();
  expect((await (await apiAs(request, 'bea@kanaal.example', NEW_PASSWORD)).get('/me')).user.has_password).toBe(true);
});

test('somebody signs up, verifies the address and begins the onboarding @phone', async ({ page, service }) => {
  await page.goto('/sign-in');
  await page.getByRole('link', { name: 'Sign up' }).click();
  await page.getByLabel('Legal name of the company').fill('Zeeroep BV');
  await page.getByLabel('Country').selectOption('NL');
  await page.getByLabel('Your name').fill('Zoë Zeeman');
  await page.getByLabel('Work email').fill('zoe@zeeroep.example');
  await page.getByLabel('Password', { exact: true }).fill('short');
  await page.getByLabel('Repeat the password').fill('short');
  await page.getByRole('button', { name: 'Create account' }).click();
  await expect(page.getByLabel('Password', { exact: true })).toHaveAttribute('aria-invalid', 'true');
  await expectAccessible(page);
  await page.getByLabel('Password', { exact: true }).fill(NEW_PASSWORD);
  await page.getByLabel('Repeat the password').fill(NEW_PASSWORD);
  await page.getByRole('button', { name: 'Create account' }).click();
  await expect(page.getByRole('heading', { name: 'Check your mail' })).toBeVisible();
  await page.goto(await service.link('zoe@zeeroep.example', 'verify-email'));
  await page.getByLabel('Password').fill(NEW_PASSWORD);
  await page.getByRole('button', { name: 'Verify address' }).click();
  await expect(page.getByRole('heading', { name: 'Your email address is verified' })).toBeVisible();
  await page.getByRole('link', { name: 'Go on' }).click();
  await signIn(page, 'zoe@zeeroep.example', NEW_PASSWORD);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(/^Welcome, /);
});

test('a link without its token says what to do', async ({ page }) => {
  for (const path of ['/reset-password', '/magic-link', '/verify-email']) {
    await page.goto(path);
    await expect(page.getByRole('heading', { name: 'This page needs the link from your mail' })).toBeVisible();
  }
  await page.goto('/impersonate');
  await expect(page.getByRole('heading', { name: 'The view has ended' })).toBeVisible();
});
