// Trunks: creating, connecting, allowing networks, and two people who change the same one.
import { apiAs, expect, expectAccessible, people, signInAs, test } from '../world';

test.use({
  settings: { TRUNKLINE_ZONES: 'eu-west=sip.eu-west.example.net,us-east' },
  // A network that is listed already is a conflict.
  expectedErrors: [/status of 409/],
});

test('a trunk is created, gets a network and shows how to prove it @phone', async ({ page }) => {
  await signInAs(page, people.live, '/trunks');
  await page.getByRole('button', { name: 'Create trunk' }).click();
  const form = page.getByRole('dialog', { name: 'New trunk' });
  await form.getByLabel('Name').fill('Vermittlungsstellenverbindung قناة');
  await form.getByLabel('Channels').fill('0');
  await form.getByRole('button', { name: 'Create trunk' }).click();
  await expect(form.getByLabel('Channels')).toHaveAttribute('aria-invalid', 'true');
  await form.getByLabel('Channels').fill('12');
  await form.getByLabel('Calls per second').fill('3');
  await form.getByRole('button', { name: 'Create trunk' }).click();

  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Vermittlungsstellenverbindung قناة');
  await expect(page).toHaveURL(/\/networks$/);
  await expect(page.getByText('No networks yet')).toBeVisible();
  await page.getByRole('button', { name: 'Add network' }).click();
  const adding = page.getByRole('dialog', { name: 'New network' });
  await adding.getByLabel('IP address or network').fill('8.8.8.8');
  await adding.getByLabel('Note').fill('Office PBX');
  await adding.getByRole('button', { name: 'Add network' }).click();

  const proof = page.getByRole('dialog', { name: /Prove 8\.8\.8\.8/ });
  await expect(proof.getByText('sip:verify@sip.eu-west.example.net').first()).toBeVisible();
  await proof.getByLabel('How').selectOption('Asterisk');
  await expect(proof.getByText('authenticate_qualify=yes')).toBeVisible();
  await expectAccessible(page);
  await proof.getByRole('button', { name: 'Close' }).click();

  const row = page.getByRole('row', { name: /8\.8\.8\.8/ });
  await expect(row.getByText('Not proved')).toBeVisible();
  await row.getByRole('button', { name: 'Delete' }).click();
  await expect(page.getByRole('dialog').getByText('Within two seconds, calls from this network are refused.')).toBeVisible();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await expect(page.getByText('No networks yet')).toBeVisible();
  await page.getByRole('button', { name: 'Delete trunk' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete trunk' }).click();
  await expect(page).toHaveURL('/trunks');
  await expect(page.getByText('Vermittlungsstellenverbindung قناة', { exact: true })).toHaveCount(0);
});

test('a network that is verified by the team changes its state without reloading', async ({ page, request }) => {
  const customer = await apiAs(request, people.german);
  const team = await apiAs(request, people.admin);
  const [trunk] = (await customer.get('/trunks')).data;
  const entry = await customer.post(`/trunks/${trunk.id}/ip-allow-list`, { cidr: '9.9.9.0/24' });
  await signInAs(page, people.german, `/trunks/${trunk.id}/networks`);
  const row = page.getByRole('row', { name: /9\.9\.9\.0/ });
  await row.getByRole('button', { name: 'Prove' }).click();
  await expect(page.getByRole('dialog').getByText('Ask our team to verify this network')).toBeVisible();
  await team.post(`/admin/trunks/${trunk.id}/ip-allow-list/${entry.id}/verify`);
  await expect(page.getByRole('dialog').getByText('The network is verified')).toBeVisible({ timeout: 15_000 });
});

test('a network that is listed already is refused where it was typed', async ({ page, request }) => {
  const customer = await apiAs(request, people.live);
  const [trunk] = (await customer.get('/trunks')).data;
  const [listed] = (await customer.get(`/trunks/${trunk.id}/ip-allow-list`)).data;
  await signInAs(page, people.live, `/trunks/${trunk.id}/networks?add=1`);
  const form = page.getByRole('dialog', { name: 'New network' });
  await form.getByLabel('IP address or network').fill(listed.cidr);
  await form.getByRole('button', { name: 'Add network' }).click();
  await expect(form.getByRole('alert')).toContainText(listed.cidr);
});

test('settings and snippets can be copied for each PBX @dark', async ({ page, request }) => {
  const customer = await apiAs(request, people.live);
  const [trunk] = (await customer.get('/trunks')).data;
  await signInAs(page, people.live, `/trunks/${trunk.id}`);
  await expect(page.getByRole('meter', { name: 'This trunk' })).toBeVisible();
  await expectAccessible(page);
  await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'Connect' }).click();
  for (const [pbx, text] of [
    ['Asterisk (PJSIP)', 'contact=sip:sip.eu-west.example.net:5060'],
    ['FreeSWITCH', '<param name="proxy" value="sip.eu-west.example.net:5060"/>'],
    ['Kamailio', '1 sip:sip.eu-west.example.net:5060;transport=udp'],
    ['3CX', 'Do not require (IP based)'],
    ['Other PBX', 'calls are authorized by IP address'],
  ] as const) {
    await page.getByLabel('PBX', { exact: true }).selectOption(pbx);
    await expect(page.getByRole('region', { name: /^Paste into/ })).toContainText(text);
  }
  await expect(page.getByRole('row', { name: /us-east/ })).toContainText('Not published');
  await expectAccessible(page);
});

test('two people change a trunk: both versions are shown and nothing is overwritten', async ({ page, request }) => {
  const customer = await apiAs(request, people.german);
  const [trunk] = (await customer.get('/trunks')).data;
  await signInAs(page, people.german, `/trunks/${trunk.id}?edit=1`);
  const form = page.getByRole('dialog', { name: `Edit ${trunk.name}` });
  await form.getByLabel('Channels').fill('77');
  await customer.patch(`/trunks/${trunk.id}`, { channel_cap: 55, cps_limit: 5 });
  await form.getByRole('button', { name: 'Save changes' }).click();
  const conflict = form.getByRole('table');
  await expect(conflict.getByRole('row', { name: /Channels/ })).toContainText('77');
  await expect(conflict.getByRole('row', { name: /Channels/ })).toContainText('55');
  await expectAccessible(page);
  await form.getByRole('button', { name: 'Keep mine' }).click();
  await form.getByRole('button', { name: 'Save changes' }).click();
  await expect(form).toHaveCount(0);
  expect((await customer.get(`/trunks/${trunk.id}`)).channel_cap).toBe(77);
});

test('a trunk is not read again while it is being deleted', async ({ page, request }) => {
  const customer = await apiAs(request, people.live);
  const { id } = await customer.post('/trunks', { name: 'Short-lived', channel_cap: 2, zone: 'eu-west' });
  // The answer takes longer than the event that tells of the deletion, after which everything about trunks is read again.
  await page.route(`**/v1/trunks/${id}`, async (route) => {
    if (route.request().method() !== 'DELETE') return route.continue();
    const response = await route.fetch();
    await page.waitForResponse((other) => new URL(other.url()).pathname === '/v1/trunks');
    await route.fulfill({ response });
  });
  await signInAs(page, people.live, `/trunks/${id}`);
  await page.getByRole('button', { name: 'Delete trunk' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete trunk' }).click();
  await expect(page).toHaveURL('/trunks');
  await expect(page.getByText('Short-lived', { exact: true })).toHaveCount(0);
});

test('a trunk with numbers cannot be deleted, and says why', async ({ page, request }) => {
  const customer = await apiAs(request, people.live);
  const [number] = (await customer.get('/numbers')).data;
  await signInAs(page, people.live, `/trunks/${number.trunk_id}/numbers`);
  await expect(page.getByRole('row', { name: /\+31/ }).first()).toBeVisible();
  await expect(page.getByRole('button', { name: /^Delete trunk/ })).toHaveAccessibleDescription('Route its numbers to another trunk first.');
});

test('a suspended customer reads its trunk and cannot change it', async ({ page, request }) => {
  const customer = await apiAs(request, people.suspended);
  const [trunk] = (await customer.get('/trunks')).data;
  await signInAs(page, people.suspended, `/trunks/${trunk.id}`);
  await expect(page.getByRole('button', { name: /^Edit/ })).toHaveAttribute('aria-disabled', 'true');
});
