import type { Route } from '$router';

export const routes: Route[] = [
  { path: '/rates', title: 'Rates', who: 'customer', load: () => import('./Rates.svelte') },
  { path: '/rates/changes', title: 'Rate changes', who: 'customer', load: () => import('./Changes.svelte') },
  { path: '/rates/notices', title: 'Price notices', who: 'customer', load: () => import('./Notices.svelte') },
  { path: '/rates/notices/{id}', title: 'Price notice', who: 'customer', load: () => import('./PriceNotice.svelte') },
];
