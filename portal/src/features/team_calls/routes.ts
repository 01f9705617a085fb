import type { Route } from '$router';

export const routes: Route[] = [
  { path: '/team/traffic', title: 'Traffic', who: 'team', load: () => import('./Traffic.svelte') },
  { path: '/team/calls', title: 'Calls', who: 'team', load: () => import('./TeamCalls.svelte') },
  { path: '/team/calls/live', title: 'Live calls', who: 'team', load: () => import('./TeamLive.svelte') },
  { path: '/team/calls/exports', title: 'Call exports', who: 'team', load: () => import('./TeamExports.svelte') },
  { path: '/team/calls/{id}', title: 'Call', who: 'team', load: () => import('./TeamCalls.svelte') },
  { path: '/team/suspense', title: 'Suspended CDRs', who: 'team', load: () => import('./Suspense.svelte') },
];
