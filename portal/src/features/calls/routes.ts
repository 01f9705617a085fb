import type { Route } from '$router';

export const routes: Route[] = [
  { path: '/calls', title: 'Calls', who: 'customer', load: () => import('./Calls.svelte') },
  { path: '/calls/live', title: 'Live calls', who: 'customer', load: () => import('./Live.svelte') },
  { path: '/calls/simulate', title: 'Simulate a call', who: 'customer', load: () => import('./Simulate.svelte') },
  { path: '/calls/exports', title: 'Call exports', who: 'customer', load: () => import('./Exports.svelte') },
  { path: '/calls/{id}', title: 'Call', who: 'customer', load: () => import('./Calls.svelte') },
];
