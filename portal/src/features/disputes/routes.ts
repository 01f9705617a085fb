import type { Route } from '$router';

export const routes: Route[] = [
  { path: '/support/disputes', title: 'Call disputes', who: 'customer', load: () => import('./Disputes.svelte') },
];
