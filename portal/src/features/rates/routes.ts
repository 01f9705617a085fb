import type { Route } from '$router';

export const routes: Route[] = [
  { path: '/rates', title: 'Rates', who: 'customer', load: () => import('./Rates.svelte') },
  { path: '/rates/changes', title: 'Rate changes', who: 'customer', load: () => import('./Changes.svelte') },
];
