import type { Route } from '$router';

const base = '/team/customers/{id}';

export const routes: Route[] = [
  { path: '/team/customers', title: 'Customers', who: 'team', load: () => import('./Customers.svelte') },
  { path: base, title: 'Customer', who: 'team', load: () => import('./Overview.svelte') },
  { path: `${base}/calls`, title: 'Calls of a customer', who: 'team', load: () => import('./Calls.svelte') },
  { path: `${base}/trunks`, title: 'Trunks of a customer', who: 'team', load: () => import('./Trunks.svelte') },
  { path: `${base}/numbers`, title: 'Numbers of a customer', who: 'team', load: () => import('./Numbers.svelte') },
  { path: `${base}/orders`, title: 'Number orders of a customer', who: 'team', load: () => import('./Orders.svelte') },
  { path: `${base}/ledger`, title: 'Ledger of a customer', who: 'team', load: () => import('./Ledger.svelte') },
  { path: `${base}/invoices`, title: 'Invoices of a customer', who: 'team', load: () => import('./Invoices.svelte') },
  { path: `${base}/payments`, title: 'Payments of a customer', who: 'team', load: () => import('./Payments.svelte') },
  { path: `${base}/users`, title: 'Users of a customer', who: 'team', load: () => import('./Users.svelte') },
  { path: `${base}/api-keys`, title: 'API keys of a customer', who: 'team', load: () => import('./ApiKeys.svelte') },
  { path: `${base}/webhooks`, title: 'Webhooks of a customer', who: 'team', load: () => import('./Webhooks.svelte') },
  { path: `${base}/limits`, title: 'Limits of a customer', who: 'team', load: () => import('./Limits.svelte') },
  { path: `${base}/rate-plan`, title: 'Rate plan of a customer', who: 'team', load: () => import('./RatePlan.svelte') },
  { path: `${base}/notes`, title: 'Notes about a customer', who: 'team', load: () => import('./Notes.svelte') },
  { path: `${base}/vat`, title: 'VAT of a customer', who: 'team', load: () => import('./Vat.svelte') },
];
