// Numbers: ordering with and without documents and money, routing, releasing.
import { apiAs, expect, expectAccessible, people, signInAs, test } from '../world';

test('a number is ordered by country and area, and is active at once @phone @postgres', async ({ page }) => {
  await signInAs(page, people.live, '/numbers');
  await expectAccessible(page);
  await page.getByRole('link', { name: 'Order a number' }).click();
  await expectAccessible(page);
  await page.getByRole('row', { name: /Netherlands/ }).click();
  await expectAccessible(page);
  await page.getByRole('row', { name: /Rotterdam/ }).click();
  await expect(page.getByText('€6.50').first()).toBeVisible();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Order number' }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog.getByText('€6.50 is taken from the balance now')).toBeVisible();
  await dialog.getByRole('button', { name: 'Order number' }).click();
  await expect(page).toHaveURL(/\/numbers\/orders\/[0-9a-f-]{36}$/);
  await expect(page.getByText('The number is yours.')).toBeVisible();
  await expectAccessible(page);
  await page.getByRole('link', { name: 'View number' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(/^\+31 10/);
  await expectAccessible(page);
});

test('several numbers are ordered one after the other', async ({ page, request }) => {
  const customer = await apiAs(request, people.german);
  const group = (await customer.get('/numbers/inventory?country=DE&regulatory=api')).data[0];
  await signInAs(page, people.german, `/numbers/order?country=DE&group=${group.id}`);
  await page.getByRole('textbox', { name: 'Quantity' }).fill('99');
  await expect(page.getByRole('button', { name: /^Order/ })).toHaveAttribute('aria-disabled', 'true');
  await page.getByRole('textbox', { name: 'Quantity' }).fill('2');
  await page.getByRole('button', { name: 'Order 2 numbers' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Order 2 numbers' }).click();
  await expect(page).toHaveURL('/numbers/orders');
  await expect(page.getByRole('region', { name: 'Number orders' }).getByRole('row', { name: /Active/ }).nth(1)).toBeVisible();
});

test('too little money leads to a top-up and back to the same choice', async ({ page, request }) => {
  const customer = await apiAs(request, people.approved);
  await customer.post('/trunks', { name: 'First', zone: 'eu-west', channel_cap: 5 });
  const [group] = (await customer.get('/numbers/inventory?country=GB')).data;
  await signInAs(page, people.approved, `/numbers/order?country=GB&group=${group.id}&quantity=2`);
  await expect(page.getByText('The balance is not enough', { exact: true })).toBeVisible();
  await expect(page.getByText('€7.40 is missing.')).toBeVisible();
  await expectAccessible(page);
  await page.getByRole('link', { name: 'Top up €10.00' }).click();
  await page.getByRole('dialog').getByRole('button', { name: /€10\.00/ }).last().click();
  await page.waitForURL('**/checkout/**');
  await page.getByLabel('Card number').fill('4242424242424242');
  await page.getByRole('button', { name: 'Pay €10.00' }).click();
  await page.waitForURL('**/billing/topups/**');
  await page.getByRole('main').locator('a[href^="/numbers/order?"]').first().click({ timeout: 20_000 });
  await expect(page.getByRole('textbox', { name: 'Quantity' })).toHaveValue('2');
  await page.getByRole('button', { name: 'Order 2 numbers' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Order 2 numbers' }).click();
  await expect(page).toHaveURL('/numbers/orders');
});

test('an order that needs documents tells so before, waits for them, and can be cancelled', async ({ page }) => {
  await signInAs(page, people.live, '/numbers/order?country=NL');
  await page.getByLabel('Documents', { exact: true }).selectOption('Needs documents');
  await page.getByRole('row', { name: /Utrecht/ }).click();
  await expect(page.getByText('Documents are needed')).toBeVisible();
  await expect(page.getByRole('listitem').filter({ hasText: 'Proof of address' })).toBeVisible();
  await page.getByRole('button', { name: 'Order number' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Order number' }).click();
  await expect(page.getByText('Waits for documents').first()).toBeVisible();
  await expect(page.getByRole('link', { name: 'Upload documents' })).toBeVisible();
  await page.getByRole('button', { name: 'Cancel order' }).click();
  await expect(page.getByRole('dialog').getByText('What was paid is put back on the balance')).toBeVisible();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel order' }).click();
  await expect(page.getByText('The order was cancelled and refunded in full.')).toBeVisible();
});

test('a number is routed to another trunk and released @dark', async ({ page, request }) => {
  const customer = await apiAs(request, people.german);
  const [number] = (await customer.get('/numbers')).data;
  const trunk = await customer.post('/trunks', { name: 'Second', zone: 'eu-west', channel_cap: 5 });
  await signInAs(page, people.german, `/numbers/${number.id}`);
  await page.getByLabel('Trunk', { exact: true }).selectOption(trunk.id);
  await page.getByRole('button', { name: 'Save route' }).click();
  await expect(page.getByText('go to Second now')).toBeVisible();
  await expect(page.getByText('Calls to this number are refused')).toBeVisible();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Release number' }).click();
  await expect(page.getByRole('dialog').getByText('the rest of the month is not refunded')).toBeVisible();
  await page.getByRole('dialog').getByRole('button', { name: 'Release number' }).click();
  await expect(page).toHaveURL('/numbers');
  await expect(page.getByText('was released')).toBeVisible();
});

test('numbers are found by their first digits, and the filter is in the address', async ({ page, request }) => {
  const rented: { e164: string }[] = (await (await apiAs(request, people.live)).get('/numbers')).data;
  const first = rented[0]?.e164.slice(0, 5) ?? '';
  await signInAs(page, people.live, '/numbers');
  await page.getByRole('searchbox', { name: 'Number' }).fill(`${first.slice(0, 3)} ${first.slice(3)}`);
  await expect(page).toHaveURL(/q=/);
  await expect(page.getByRole('region', { name: 'Rented numbers' }).getByRole('row')).toHaveCount(rented.filter(({ e164 }) => e164.startsWith(first)).length + 1);
  await page.getByRole('searchbox', { name: 'Number' }).fill('+999');
  await expect(page.getByText('No number matches')).toBeVisible();
});
