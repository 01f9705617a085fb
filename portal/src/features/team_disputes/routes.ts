import type { Route } from '$router';

export const routes: Route[] = [
  { path: '/team/disputes', title: 'Call disputes', who: 'team', load: () => import('./Disputes.svelte') },
  { path: '/team/disputes/{id}', title: 'Call dispute', who: 'team', load: () => import('./Dispute.svelte') },
];
