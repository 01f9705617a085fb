import type { Route } from '$router';
import { words } from './words';

const load = () => import('./Trunk.svelte');

export const routes: Route[] = [
  { path: '/trunks', title: words.title, who: 'customer', load: () => import('./Trunks.svelte') },
  { path: '/trunks/{id}', title: words.one, who: 'customer', load },
  { path: '/trunks/{id}/connect', title: words.tabs.connect, who: 'customer', load },
  { path: '/trunks/{id}/networks', title: words.tabs.networks, who: 'customer', load },
  { path: '/trunks/{id}/numbers', title: words.tabs.numbers, who: 'customer', load },
];
