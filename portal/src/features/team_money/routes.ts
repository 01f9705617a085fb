import type { Route } from '$router';

export const routes: Route[] = [
  { path: '/team/payments', title: 'Payments', who: 'team', load: () => import('./Payments.svelte') },
  { path: '/team/chargebacks', title: 'Chargebacks', who: 'team', load: () => import('./Chargebacks.svelte') },
  { path: '/team/chargebacks/{id}', title: 'Chargeback', who: 'team', load: () => import('./Chargeback.svelte') },
  { path: '/team/invoices', title: 'Invoices', who: 'team', load: () => import('./Invoices.svelte') },
  { path: '/team/credits', title: 'Credits', who: 'team', load: () => import('./Credits.svelte') },
  { path: '/team/margin', title: 'Margin', who: 'team', load: () => import('./Margin.svelte') },
];
