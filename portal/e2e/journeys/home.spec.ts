// The home of a customer, and where everybody else lands.
import { switchOf, trunkOf } from '../switch';
import { apiAs, expect, expectAccessible, people, signInAs, test } from '../world';

test('a live customer sees balance, spend, live calls and quality @phone @dark', async ({ page }) => {
  await signInAs(page, people.live);
  await expect(page.getByRole('heading', { name: 'Home', level: 1 })).toBeVisible();
  await expect(page.getByRole('link', { name: /^Balance €/ })).toBeVisible();
  await expect(page.getByRole('link', { name: /^Lasts / })).toBeVisible();
  await expect(page.getByRole('link', { name: /^ASR/ })).toBeVisible();
  await expect(page.getByRole('meter', { name: 'eu-west' })).toBeVisible();
  await expect(page.getByRole('heading', { name: 'Spend on calls by day' })).toBeVisible();
  await expectAccessible(page);
});

test('notices of the operator and what needs attention come first', async ({ page, request }) => {
  const team = await apiAs(request, people.admin);
  await team.post('/admin/notices', {
    severity: 'critical',
    title: 'Routes to Atlantis are down',
    body: 'We are working on it.',
    starts_at: new Date(Date.now() - 60_000).toISOString(),
  });
  await signInAs(page, people.live);
  await expect(page.getByText('Routes to Atlantis are down')).toBeVisible();
  const attention = page.getByRole('region', { name: 'Needs attention' });
  await expect(attention.getByText('Your email address is not verified')).toBeVisible();
  await attention.getByRole('button', { name: 'Send the link again' }).click();
  await expect(page.getByText('The link is sent.')).toBeVisible();
});

test('a spend cap that is nearly used leads to the limits', async ({ page, request, service }) => {
  const customer = await apiAs(request, people.german);
  // The demo has no calls yet if the UTC day has just begun.
  const now = Date.now();
  const started_at = new Date(Math.max(now - 600_000, now - (now % 86_400_000))).toISOString();
  const call = { trunk_id: (await trunkOf(customer)).id, leg: 'termination', called: '+31201234567', status: 'answered' };
  const times = { started_at, answered_at: started_at, ended_at: new Date(now).toISOString() };
  const calls = Array.from({ length: 20 }, () => ({ call_id: crypto.randomUUID(), ...call, ...times }));
  await switchOf(service).importCdrs(calls);
  const summary = await customer.get('/cdrs/summary');
  await customer.put('/fraud-caps', {
    max_spend_per_day: { amount_minor: summary.totals.charge.amount_minor, currency: 'EUR' },
    max_rate_per_minute: { amount: '1.00', amount_minor: 100, currency: 'EUR' },
  });
  await signInAs(page, people.german);
  const attention = page.getByRole('region', { name: 'Needs attention' });
  await expect(attention.getByText('The daily spend cap is reached')).toBeVisible();
  await attention.getByRole('link', { name: 'Change limits' }).click();
  await expect(page).toHaveURL('/settings/limits');
});

test('an approved customer is led to its first top-up and trunk', async ({ page }) => {
  await signInAs(page, people.approved);
  const attention = page.getByRole('region', { name: 'Needs attention' });
  await expect(attention.getByText('Make a first top-up')).toBeVisible();
  await attention.getByRole('link', { name: 'Create trunk' }).click();
  await expect(page.getByRole('dialog', { name: 'New trunk' })).toBeVisible();
});

test('a suspended customer is told so', async ({ page }) => {
  await signInAs(page, people.suspended);
  await expect(page.getByRole('region', { name: 'Needs attention' }).getByText('Your account is suspended')).toBeVisible();
});

test('a team member lands on the page of the team @core', async ({ page }) => {
  await signInAs(page, people.admin);
  await expect(page).toHaveURL('/team');
});
