// Rate plans: their rules, what they make of prices, and who has them.
import { apiAs, expect, expectAccessible, people, priceNotice, signInAs, test } from '../world';

// A number that is not sold.
test.use({ expectedErrors: [/status of 404/] });

/** A customer with calls that pays the list price. */
async function withoutPlan(admin: Awaited<ReturnType<typeof apiAs>>): Promise<{ id: string; company_name: string }> {
  for (const name of ['Rheinruf', 'Polder', 'Kanaal', 'Thames', 'Bonjour']) {
    const [customer] = (await admin.get(`/admin/customers?q=${name}`)).data;
    const { history } = await admin.get(`/admin/customers/${customer.id}/rate-plan`);
    if (history.length === 0) return customer;
  }
  throw new Error('every customer has a rate plan');
}

test('a plan is created, gets rules one by one and by the line, and shows what a number costs @phone @dark', async ({ page }) => {
  await signInAs(page, people.admin, '/team/plans');
  await page.getByRole('button', { name: 'Create rate plan' }).click();
  const form = page.getByRole('dialog', { name: 'Create rate plan' });
  await form.getByLabel('Name', { exact: true }).fill('Call centres');
  await form.getByLabel('Markup (%)', { exact: true }).fill('-2.5');
  await expectAccessible(page);
  await form.getByRole('button', { name: 'Create rate plan' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Call centres' })).toBeVisible();
  await expect(page.getByText('All calls have the markup of the plan.')).toBeVisible();

  await page.getByRole('button', { name: 'Add rule' }).click();
  const rule = page.getByRole('dialog', { name: 'Add rule' });
  await rule.getByLabel('Prefix', { exact: true }).fill('+31 6');
  await rule.getByLabel('Fixed price per minute').check();
  await rule.getByLabel('Price per minute', { exact: true }).fill('0,25');
  await expectAccessible(page);
  await rule.getByRole('button', { name: 'Take over' }).click();
  const rules = page.getByRole('region', { name: 'Rules of the plan' });
  await expect(rules.getByRole('row', { name: /\+316/ })).toContainText('€0.25');

  await page.getByRole('button', { name: 'Paste rules' }).click();
  const paste = page.getByRole('dialog', { name: 'Paste rules' });
  await paste.getByLabel('Lines', { exact: true }).fill('Calls to\tPrice\nDE\t-5%\n4420\tcheap');
  await expect(paste.getByText(/^Line 3:/)).toBeVisible();
  await paste.getByLabel('Lines', { exact: true }).fill('Calls to\tPrice\nDE\t-5%\n4420\t0.02\t\t60\t60');
  await paste.getByRole('button', { name: 'Take over 2 rules' }).click();
  await expect(rules.getByRole('row')).toHaveCount(4);
  await expect(page.getByText('Rules: 3 new, 0 changed, 0 removed.')).toBeVisible();
  await expectAccessible(page);
  // A look at another screen does not lose them.
  await page.getByRole('link', { name: 'Impact' }).click();
  await expect(page).toHaveURL(/impact$/);
  await page.goBack();
  await expect(page.getByText('Rules: 3 new, 0 changed, 0 removed.')).toBeVisible();

  await page.getByRole('button', { name: 'Save as new version' }).click();
  await page.getByRole('dialog', { name: 'New version' }).getByRole('button', { name: 'Save as new version' }).click();
  await expect(page.getByText('Version 2 was saved.')).toBeVisible();
  await page.getByLabel('Prefix, destination or country').fill('germ');
  await expect(rules.getByRole('row')).toHaveCount(2);
  await expect(rules.getByRole('row').nth(1)).toContainText('Germany');

  const price = page.getByRole('region', { name: 'Price of a number' });
  await price.getByLabel('Number', { exact: true }).fill('+31 6 1234 5678');
  await expect(price).toContainText('Rule for a prefix');
  await expect(price).toContainText('€0.25');
  await price.getByLabel('Number', { exact: true }).fill('+999 12');
  await expect(price).toContainText('This number is not sold');

  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog', { name: 'Delete Call centres?' }).getByRole('button', { name: 'Delete' }).click();
  await expect(page.getByText('Call centres was deleted.')).toBeVisible();
});

test('a customer gets a dearer plan after its notice, or at once with a reason @phone @dark', async ({ page, request }) => {
  const admin = await apiAs(request, people.admin);
  const { id, company_name } = await withoutPlan(admin);
  const plan = await admin.post('/admin/rate-plans', { name: 'Retail', base: 'list', markup_pct: 50 });
  await signInAs(page, people.admin, `/team/customers/${id}/rate-plan`);
  await expect(page.getByText('What every customer without a rate plan pays')).toBeVisible();

  await page.getByRole('button', { name: 'Change rate plan' }).click();
  const form = page.getByRole('dialog', { name: 'Change rate plan' });
  await form.getByLabel('Rate plan', { exact: true }).selectOption('Retail');
  await form.getByRole('button', { name: 'Assign' }).click();
  await expect(form.getByText('A price rises, so customers need notice')).toBeVisible();
  // The service names the moment in UTC; the form in the reader's zone, as everything else.
  await expect(form.getByText(/^Must not be before \d+ \w+ \d{4}, [\d:]+, since/)).toBeVisible();
  await expectAccessible(page);
  // When an hour ends meanwhile, the service names the next one.
  await expect(async () => {
    await form.getByRole('button', { name: 'Use this moment' }).click();
    await form.getByRole('button', { name: 'Assign' }).click();
    await expect(page.getByText('Retail is planned')).toBeVisible({ timeout: 5_000 });
  }).toPass({ timeout: 20_000 });

  await page.getByRole('button', { name: 'Change rate plan' }).click();
  await form.getByRole('button', { name: 'Assign' }).click();
  await form.getByRole('checkbox', { name: 'Waive the notice' }).check();
  await form.getByLabel('Reason for waiving', { exact: true }).fill('Agreed in the new contract');
  await form.getByRole('button', { name: 'Assign' }).click();
  const history = page.getByRole('region', { name: 'Rate plans of this customer, latest first' });
  await expect(history.getByRole('row').nth(1)).toContainText('In force');
  await expect(history.getByRole('row').nth(1)).toContainText('Agreed in the new contract');
  await expect(history.getByRole('row').nth(2)).toContainText('Replaced');
  await expectAccessible(page);

  await page.goto(`/team/routes?number=%2B31612345678&customer=${id}`);
  await expect(page.getByText('Markup of the plan')).toBeVisible();
  await page.goto(`/team/plans/${plan.id}/impact`);
  await expect(page.getByRole('region', { name: 'Customers of the plan' })).toContainText(company_name);
  await expectAccessible(page);
  await page.goto(`/team/plans/${plan.id}`);
  await expect(page.getByRole('button', { name: 'Delete' })).toHaveAttribute('aria-disabled', 'true');
});

test('the team sees who was told of a change of prices, why, and whom it was mailed to @phone @dark', async ({ page, request }) => {
  const notice = await priceNotice(await apiAs(request, people.admin), -7);
  await signInAs(page, people.admin, '/team/price-notices');
  const row = page.getByRole('region', { name: 'Price notices' }).getByRole('row', { name: /^Kanaal/ }).first();
  await expect(row).toContainText('In force');
  await page.goto(`/team/price-notices?customer=${notice.customer_id}`);
  await expect(row).toContainText('In force');
  await expectAccessible(page);
  await row.getByRole('button', { name: 'Open' }).click();
  const drawer = page.getByRole('dialog', { name: 'Price notice' });
  await expect(drawer).toContainText(`${notice.decreased} decreased`);
  await expect(drawer).toContainText(notice.mailed_to[0] ?? 'Nobody');
  await expectAccessible(page);
  await drawer.getByRole('link', { name: 'Rate plan of the customer' }).click();
  await expect(page.getByText('Benelux volume').first()).toBeVisible();
});
