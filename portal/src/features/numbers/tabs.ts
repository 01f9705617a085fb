import { words } from './words';

export const numberTabs = [
  { href: '/numbers', label: words.tabs.mine },
  { href: '/numbers/orders', label: words.tabs.orders },
];
