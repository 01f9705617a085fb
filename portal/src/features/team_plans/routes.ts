import type { Route } from '$router';

export const routes: Route[] = [
  { path: '/team/plans', title: 'Rate plans', who: 'team', load: () => import('./Plans.svelte') },
  { path: '/team/plans/{id}', title: 'Rate plan', who: 'team', load: () => import('./Plan.svelte') },
  { path: '/team/plans/{id}/impact', title: 'Impact of a rate plan', who: 'team', load: () => import('./Impact.svelte') },
  { path: '/team/price-notices', title: 'Price notices', who: 'team', load: () => import('./PriceNotices.svelte') },
];
