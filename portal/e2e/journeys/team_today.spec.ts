// What the team sees first: queues with their counts and ages, alarms, traffic and margin.
import { switchOf, trunkOf } from '../switch';
import { apiAs, expect, expectAccessible, people, signInAs, test } from '../world';

test('queues show how much waits and for how long, and lead there @phone @dark', async ({ page, request }) => {
  const admin = await apiAs(request, people.admin);
  const inbox = await admin.get('/admin/inbox');
  await signInAs(page, people.admin, '/team');
  const kyb = page.getByRole('link', { name: /^KYB to review/ });
  await expect(kyb).toContainText(String(inbox.kyb));
  await expect(kyb).toContainText('Oldest:');
  await expect(page.getByRole('link', { name: /^On the waitlist/ })).toContainText(String(inbox.waitlist));
  await expect(page.getByText('An admin has no second factor')).toBeVisible();
  await expect(page.getByText('Calls by hour')).toBeVisible();
  await expect(page.getByText('Margin, 7 days')).toBeVisible();
  await expectAccessible(page);
  await kyb.click();
  await expect(page.getByRole('heading', { name: 'Reviews', level: 1 })).toBeVisible();
});

test('a new ticket is counted without a reload', async ({ page, request }) => {
  await signInAs(page, people.admin, '/team');
  const tickets = page.getByRole('link', { name: /^Tickets to answer/ });
  await expect(tickets).toContainText(/\d/);
  const before = Number(/answer\s*(\d+)/.exec((await tickets.textContent()) ?? '')?.[1]);
  const customer = await apiAs(request, people.live);
  await customer.post('/tickets', { subject: 'Is Sunday’s work still on?', body: 'We have a broadcast.', priority: 'normal' });
  await expect(tickets).toContainText(new RegExp(`answer\\s*${before + 1}`), { timeout: 40_000 });
});

test('an open circuit breaker is an alarm that leads to the routes', async ({ page, request, service }) => {
  const admin = await apiAs(request, people.admin);
  const { address } = await trunkOf(await apiAs(request, people.live));
  for (let calls = 0; calls < 5; calls++) await switchOf(service).fail(address, '+31201234567');
  await expect.poll(async () => (await admin.get('/admin/inbox')).open_breakers).toBeGreaterThan(0);
  await signInAs(page, people.admin, '/team');
  const alarms = page.getByRole('region', { name: 'Alarms' });
  await expect(alarms.getByText(/circuit breakers? (is|are) open/)).toBeVisible();
  await expectAccessible(page);
  await alarms.locator('a[href="/team/routes"]').click();
  await expect(page.getByRole('heading', { name: 'Routes', level: 1 })).toBeVisible();
});
