// A session in the browser: shared by tabs, ended elsewhere, proved again for what is delicate, and kept while the service is away.
import { apiAs, expect, expectAccessible, PASSWORD, people, signInAs, test, type Page } from '../world';

const ACCESS_TOKEN_S = 15 * 60;
const link = (page: Page, name: string) => page.getByRole('navigation', { name: 'Main menu' }).getByRole('link', { name, exact: true });

test.describe('with a clock', () => {
  test.use({ settings: { TRUNKLINE_TEST_CLOCK: 'on' } });

  test('two tabs refresh one session once, and both go on @core', async ({ page, context, service }) => {
    await signInAs(page, people.live, '/notifications');
    const second = await context.newPage();
    await second.goto('/notifications');
    await expect(second.getByRole('heading', { name: 'Notifications', level: 1 })).toBeVisible();
    for (const [target, table] of [['Trunks', 'Trunks of the account'], ['Support', 'Tickets']] as const) {
      const refreshes: number[] = [];
      const note = (tab: Page) => tab.on('response', (response) => response.url().endsWith('/auth/cookie/refresh') && refreshes.push(response.status()));
      note(page);
      note(second);
      await service.advance(ACCESS_TOKEN_S + 1);
      await Promise.all([page, second].map((tab) => link(tab, target).click()));
      for (const tab of [page, second]) {
        await expect(tab.getByRole('heading', { name: target, level: 1 })).toBeVisible();
        await expect(tab.getByRole('region', { name: table }).getByRole('row').nth(1)).toBeVisible();
      }
      for (const tab of [page, second]) tab.removeAllListeners('response');
      expect(refreshes).toEqual([200]);
    }
    await second.close();
  });

  test('a session that was ended elsewhere is taken up again with what was typed @phone', async ({ page, request }) => {
    await signInAs(page, people.live, '/support/new');
    await page.getByLabel('Subject').fill('Written before the session ended');
    await page.getByLabel('Message').fill('Nothing of this may be lost.');
    const elsewhere = await apiAs(request, people.live);
    await elsewhere.delete('/me/sessions');
    await page.getByRole('button', { name: 'Open ticket' }).click();
    const dialog = page.getByRole('dialog', { name: 'Sign in again' });
    await expect(dialog.getByLabel('Password')).toBeFocused();
    await expectAccessible(page);
    await dialog.getByLabel('Password').fill('not the password');
    await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
    await expect(dialog.getByRole('alert')).toBeVisible();
    await dialog.getByLabel('Password').fill(PASSWORD);
    await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
    await expect(page.getByRole('heading', { name: 'Written before the session ended', level: 1 })).toBeVisible();
    await expect(page.getByText('Nothing of this may be lost.')).toBeVisible();
  });

  test('a delicate change asks for the password again after a quarter of an hour', async ({ page, service }) => {
    await signInAs(page, people.live, '/settings/api-keys');
    await service.advance(ACCESS_TOKEN_S + 60);
    await page.getByRole('button', { name: 'Create API key' }).first().click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Name').fill('Nightly export');
    await form.getByLabel('calls:read').check();
    await form.getByRole('button', { name: 'Create API key' }).click();
    const proof = page.getByRole('dialog', { name: 'Confirm that it is you' });
    await expect(proof.getByRole('textbox', { name: 'Password' })).toBeFocused();
    await expectAccessible(page);
    await proof.getByRole('textbox', { name: 'Password' }).fill('not the password');
    await proof.getByRole('button', { name: 'Confirm' }).click();
    await expect(proof.getByRole('alert')).toBeVisible();
    await proof.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await proof.getByRole('button', { name: 'Confirm' }).click();
    await expect(page.getByRole('region', { name: 'Secret' })).toContainText('tl_test_');
  });

  test('signing out in one tab signs out the other', async ({ page, context }) => {
    await signInAs(page, people.live, '/support');
    const second = await context.newPage();
    await second.goto('/trunks');
    await expect(second.getByRole('heading', { name: 'Trunks', level: 1 })).toBeVisible();
    await page.getByRole('button', { name: /your account$/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await expect(second.getByRole('heading', { name: 'Sign in', level: 1 })).toBeVisible();
    await second.close();
  });
});

test.describe('a service that is restarted', () => {
  test.use({ expectedErrors: [/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|status of 50[234]/] });

  test('is said to be away, and what was asked for happens once it is back @core', async ({ page, service, request }) => {
    await signInAs(page, people.live, '/support/new');
    await page.getByLabel('Subject').fill('Sent while the service was away');
    await page.getByLabel('Message').fill('It should arrive once.');
    await service.stop();
    await page.getByRole('button', { name: 'Open ticket' }).click();
    await expect(page.getByText('The service does not answer. What you see may be out of date; we keep trying.')).toBeVisible();
    await service.restart();
    await expect(page.getByText(/we keep trying/)).toBeHidden({ timeout: 30_000 });
    const heading = page.getByRole('heading', { name: 'Sent while the service was away', level: 1 });
    const again = page.getByRole('button', { name: 'Open ticket' });
    // The request is repeated for a few seconds; after that the form waits to be sent again, with the same key.
    await expect(heading.or(again)).toBeVisible();
    if (!(await heading.isVisible())) await again.click().catch(() => {});
    await expect(heading).toBeVisible({ timeout: 20_000 });
    const tickets = (await (await apiAs(request, people.live)).get('/tickets')).data as { subject: string }[];
    expect(tickets.filter(({ subject }) => subject === 'Sent while the service was away')).toHaveLength(1);
  });

  test('is waited for by a list that is read meanwhile', async ({ page, service }) => {
    await signInAs(page, people.live, '/calls?status=answered');
    await expect(page.getByRole('region', { name: 'Calls' }).getByRole('row').nth(1)).toBeVisible();
    await service.stop();
    await page.getByLabel('Result').selectOption('Failed');
    await expect(page.getByText(/we keep trying/)).toBeVisible();
    await service.restart();
    await expect(page.getByText(/we keep trying/)).toBeHidden({ timeout: 30_000 });
    await expect(page.getByRole('region', { name: 'Calls' }).getByRole('row').nth(1)).toContainText('Failed', { timeout: 30_000 });
  });
});
