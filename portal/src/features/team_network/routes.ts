import type { Route } from '$router';

export const routes: Route[] = [
  { path: '/team/upstreams', title: 'Upstreams', who: 'team', load: () => import('./Upstreams.svelte') },
  { path: '/team/upstreams/{id}', title: 'Upstream', who: 'team', load: () => import('./Upstream.svelte') },
  {
    path: '/team/upstreams/{id}/imports/{import_id}',
    title: 'Rate deck import',
    who: 'team',
    load: () => import('./DeckImport.svelte'),
  },
  {
    path: '/team/upstreams/{id}/statements/{statement_id}',
    title: 'Statement',
    who: 'team',
    load: () => import('./Statement.svelte'),
  },
  { path: '/team/rates', title: 'Upstream rates', who: 'team', load: () => import('./UpstreamRates.svelte') },
  { path: '/team/routes', title: 'Routes', who: 'team', load: () => import('./RouteLadder.svelte') },
  { path: '/team/routes/policies', title: 'Routing policies', who: 'team', load: () => import('./RoutingPolicies.svelte') },
  { path: '/team/stock', title: 'Number inventory', who: 'team', load: () => import('./Inventory.svelte') },
  {
    path: '/team/stock/imports/{id}',
    title: 'Inventory import',
    who: 'team',
    load: () => import('./InventoryImport.svelte'),
  },
  { path: '/team/fx', title: 'Exchange rates', who: 'team', load: () => import('./ExchangeRates.svelte') },
];
