import type { Route } from '$router';

export const routes: Route[] = [
  { path: '/notifications', title: 'Notifications', who: 'customer', load: () => import('./Notifications.svelte') },
];
