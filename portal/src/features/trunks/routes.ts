import type { Route } from '$router';

const load = () => import('./Trunk.svelte');

export const routes: Route[] = [
  { path: '/trunks', title: 'Trunks', who: 'customer', load: () => import('./Trunks.svelte') },
  { path: '/trunks/{id}', title: 'Trunk', who: 'customer', load },
  { path: '/trunks/{id}/connect', title: 'Connect a trunk', who: 'customer', load },
  { path: '/trunks/{id}/networks', title: 'Networks of a trunk', who: 'customer', load },
  { path: '/trunks/{id}/numbers', title: 'Numbers of a trunk', who: 'customer', load },
];
