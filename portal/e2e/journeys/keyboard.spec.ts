// Without a mouse: from signing in to a trunk with a network, and back out.
import { expect, PASSWORD, people, test } from '../world';

test('a trunk is created and deleted by keyboard alone @core', async ({ page }) => {
  const { keyboard } = page;
  /** Presses Tab until this is focused. */
  const tabTo = async (name: RegExp | string, role: 'button' | 'link' | 'textbox' = 'button') => {
    const wanted = page.getByRole(role, { name, exact: typeof name === 'string' }).first();
    await expect(wanted).toBeVisible();
    for (let presses = 0; presses < 80; presses++) {
      if (await wanted.evaluate((element) => element === document.activeElement)) return;
      await keyboard.press('Tab');
    }
    throw new Error(`Tab does not reach ${name}`);
  };

  await page.goto('/sign-in');
  await expect(page.getByLabel('Email')).toBeFocused();
  await keyboard.type(people.live);
  await keyboard.press('Tab');
  await keyboard.type(PASSWORD);
  await keyboard.press('Enter');
  await expect(page.getByRole('heading', { name: 'Home', level: 1 })).toBeVisible();

  // The first stop leads past the menu.
  await page.reload();
  await expect(page.getByRole('heading', { name: 'Home', level: 1 })).toBeVisible();
  await tabTo('Skip to content', 'link');
  await keyboard.press('Enter');
  await expect(page.getByRole('main')).toBeFocused();

  await keyboard.press('Control+k');
  await expect(page.getByRole('combobox', { name: 'Search and go to' })).toBeFocused();
  await keyboard.type('create a trunk');
  await expect(page.getByRole('option', { name: 'Create a trunk' })).toHaveAttribute('aria-selected', 'true');
  await keyboard.press('Enter');
  const form = page.getByRole('dialog', { name: 'New trunk' });
  await expect(form.getByLabel('Name')).toBeFocused();
  await keyboard.type('By keyboard');
  await keyboard.press('Enter');
  await expect(page.getByRole('heading', { name: 'By keyboard', level: 1 })).toBeVisible();

  await tabTo('Add network');
  await keyboard.press('Enter');
  const network = page.getByRole('dialog', { name: 'New network' });
  await expect(network.getByLabel('IP address or network')).toBeFocused();
  await keyboard.press('Escape');
  await expect(network).toBeHidden();
  await expect(page.getByRole('button', { name: 'Add network' }).first()).toBeFocused();

  await tabTo('Delete trunk');
  await keyboard.press('Enter');
  await expect(page.getByRole('dialog').getByRole('button', { name: 'Delete trunk' })).toBeFocused();
  await keyboard.press('Enter');
  await expect(page).toHaveURL('/trunks');
  await expect(page.getByText('By keyboard', { exact: true })).toHaveCount(0);
});
