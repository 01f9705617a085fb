import type { Route } from '$router';

export const routes: Route[] = [
  { path: '/checkout/{order_id}', title: 'Checkout', who: 'anyone', load: () => import('./Checkout.svelte') },
];
