import type { Route } from '$router';

export const routes: Route[] = [
  { path: '/billing', title: 'Balance', who: 'customer', load: () => import('./Balance.svelte') },
  { path: '/billing/topups', title: 'Top-ups', who: 'customer', load: () => import('./Topups.svelte') },
  { path: '/billing/topups/{id}', title: 'Top-up', who: 'customer', load: () => import('./Topup.svelte') },
  { path: '/billing/cards', title: 'Cards', who: 'customer', load: () => import('./Cards.svelte') },
  { path: '/billing/auto-recharge', title: 'Auto-recharge', who: 'customer', load: () => import('./Cards.svelte') },
  { path: '/billing/invoices', title: 'Invoices', who: 'customer', load: () => import('./Invoices.svelte') },
  { path: '/billing/invoices/{id}', title: 'Invoice', who: 'customer', load: () => import('./Invoice.svelte') },
];
