import type { Route } from '$router';

export const routes: Route[] = [
  { path: '/team/people', title: 'Team', who: 'team', load: () => import('./People.svelte') },
  { path: '/team/audit', title: 'Audit log', who: 'team', load: () => import('./Audit.svelte') },
  { path: '/team/service', title: 'Service', who: 'team', load: () => import('./Service.svelte') },
  { path: '/team/security', title: 'Security', who: 'team', load: () => import('./Security.svelte') },
];
