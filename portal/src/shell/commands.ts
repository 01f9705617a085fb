// What the palette offers besides search results: the screens of the menu and common actions.
import { theme } from '$kit';
import { session } from '$session';
import { customerMenu, teamMenu } from './menu';
import { words } from './words';

export type Command = { group: string; label: string; detail?: string; href?: string; run?: () => void };

export function screens(): Command[] {
  const menu = session.team ? teamMenu : customerMenu;
  return menu.flatMap(({ label, href, items }) =>
    items
      ? items.map((item) => ({ group: words.paletteScreens, label: `${label} › ${item.label}`, href: item.href }))
      : [{ group: words.paletteScreens, label, href }],
  );
}

export function actions(): Command[] {
  const group = words.paletteActions;
  const own: Command[] = session.team
    ? [
        { group, label: words.actions.credit, href: '/team/credits?new=1' },
        { group, label: words.actions.upstream, href: '/team/routes' },
        { group, label: words.actions.notice, href: '/team/notices?new=1' },
      ]
    : [
        { group, label: words.actions.topup, href: '/billing/topups?new=1' },
        { group, label: words.actions.trunk, href: '/trunks?new=1' },
        { group, label: words.actions.number, href: '/numbers/order' },
        { group, label: words.actions.ticket, href: '/support/new' },
        { group, label: words.actions.simulate, href: '/calls/simulate' },
      ];
  return [
    ...own,
    { group, label: words.actions.light, run: () => (theme.chosen = 'light') },
    { group, label: words.actions.dark, run: () => (theme.chosen = 'dark') },
    { group, label: words.actions.auto, run: () => (theme.chosen = 'auto') },
  ];
}
