// Routing policies: the default, exceptions, what others change meanwhile, and the ladder that shows what they do.
import { apiAs, expect, expectAccessible, people, signInAs, signInByLink, test } from '../world';

const PATH = '/admin/routing-policies';

test('policies are added, changed and removed, and the ladder shows the order of routes @phone @dark @postgres', async ({ page, request }) => {
  test.slow();
  const admin = await apiAs(request, people.admin);
  await signInAs(page, people.admin, '/team/routes/policies');
  const table = page.getByRole('region', { name: 'Routing policies by destination' });
  await expect(table.getByRole('row', { name: /^All other calls/ })).toContainText('Cheapest first');
  await expect(page.getByRole('button', { name: 'Remove policy for All other calls' })).toBeHidden();

  await page.getByRole('button', { name: 'Add policy' }).click();
  const add = page.getByRole('dialog', { name: 'Add policy' });
  await add.getByLabel('Prefix', { exact: true }).fill('nowhere');
  await add.getByLabel('Best quality first').check();
  await add.getByLabel(/^Least ASR/).fill('140');
  await add.getByRole('button', { name: 'Save policy' }).click();
  await expect(add.getByLabel('Prefix', { exact: true })).toHaveAttribute('aria-invalid', 'true');
  await expect(add.getByLabel(/^Least ASR/)).toHaveAttribute('aria-invalid', 'true');
  await expectAccessible(page);
  await add.getByLabel('Prefix', { exact: true }).fill('+31 6');
  await add.getByLabel(/^Least ASR/).fill('40');
  await add.getByLabel(/^Longest PDD/).fill('8000');
  await add.getByRole('button', { name: 'Save policy' }).click();
  const dutch = table.getByRole('row', { name: /^\+316/ });
  await expect(dutch).toContainText('Best quality first');
  await expectAccessible(page);

  // The same calls once more are refused; by the name of a destination they are others.
  await page.getByRole('button', { name: 'Add policy' }).click();
  await add.getByLabel('Prefix', { exact: true }).fill('316');
  await add.getByRole('button', { name: 'Save policy' }).click();
  await expect(add.getByText('Must not be named twice')).toBeVisible();
  await add.getByLabel('Applies to').selectOption({ label: 'A destination' });
  await add.getByLabel('Destination', { exact: true }).fill('Germany mobile');
  await add.getByLabel('Balanced').check();
  await add.getByRole('button', { name: 'Save policy' }).click();
  await expect(table.getByRole('row', { name: /^Germany mobile/ })).toContainText('Balanced');

  await page.goto('/team/routes?number=%2B31612345678');
  const ladder = page.getByRole('region', { name: 'Upstreams, cheapest first' });
  await expect(page.getByText('Best quality first · ASR under 40%, PDD over 8000 ms, from 20 attempts on')).toBeVisible();
  for (const title of ['ASR', 'State']) await expect(ladder.getByRole('columnheader', { name: title, exact: true })).toBeVisible();
  await expect(ladder.getByRole('row').nth(1)).toContainText('Healthy');
  await expect(ladder.getByRole('row').nth(1)).toContainText('Fewer than 20 attempts');
  await expectAccessible(page);
  await page.getByRole('link', { name: 'Routing policies' }).last().click();

  // Somebody else changes another policy: both changes stay.
  await page.getByRole('button', { name: 'Edit policy for All other calls' }).click();
  const edit = page.getByRole('dialog', { name: 'Edit policy' });
  await edit.getByLabel('Balanced').check();
  const stored = await admin.get(PATH);
  await admin.put(PATH, { ...stored, destinations: [...stored.destinations, { prefix: '46', rules: { routing_policy: 'quality' } }] });
  await edit.getByRole('button', { name: 'Save policy' }).click();
  await expect(table.getByRole('row', { name: /^All other calls/ })).toContainText('Balanced');
  await expect(table.getByRole('row', { name: /^\+46/ })).toContainText('Best quality first');

  // Somebody else changes the same policy: both versions are shown.
  await page.getByRole('button', { name: 'Edit policy for +46' }).click();
  await edit.getByLabel(/^Least ACD/).fill('30');
  const now = await admin.get(PATH);
  await admin.put(PATH, { ...now, destinations: now.destinations.map((one: { prefix: string | null; rules: object }) => (one.prefix === '46' ? { ...one, rules: { ...one.rules, min_acd_seconds: 20 } } : one)) });
  await edit.getByRole('button', { name: 'Save policy' }).click();
  await expect(edit.getByText('Somebody else changed this meanwhile').first()).toBeVisible();
  await expect(edit.getByRole('row', { name: /^Least ACD/ })).toContainText('20');
  await expectAccessible(page);
  await edit.getByRole('button', { name: 'Overwrite with mine' }).click();
  await edit.getByRole('button', { name: 'Save policy' }).click();
  await expect(edit).toBeHidden();
  expect((await admin.get(PATH)).destinations.find((one: { prefix: string | null }) => one.prefix === '46').rules.min_acd_seconds).toBe(30);

  await page.getByLabel('Prefix or destination').fill('germ');
  await expect(table.getByRole('row')).toHaveCount(2);
  await page.getByRole('button', { name: 'Remove policy for Germany mobile' }).click();
  await page.getByRole('dialog', { name: 'Remove the policy for Germany mobile?' }).getByRole('button', { name: 'Remove' }).click();
  await expect(page.getByText('No policy matches')).toBeVisible();
  expect((await admin.get(PATH)).destinations).toHaveLength(2);
});

test('support reads routing policies and is told that only an admin changes them', async ({ page, request, service }) => {
  const admin = await apiAs(request, people.admin);
  await admin.post('/admin/users', { email: 'sven@carrier.example', name: 'Sven Support', roles: ['support'] });
  await signInByLink(page, service, 'sven@carrier.example', '/team/routes/policies');
  const button = page.getByRole('button', { name: 'Add policy' });
  await expect(button).toHaveAttribute('aria-disabled', 'true');
  await expect(button).toHaveAccessibleDescription('Only an admin can do this.');
  await expect(page.getByRole('row', { name: /^All other calls/ })).toBeVisible();
});
