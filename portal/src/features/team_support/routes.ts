import type { Route } from '$router';

export const routes: Route[] = [
  { path: '/team/tickets', title: 'Tickets', who: 'team', load: () => import('./Tickets.svelte') },
  { path: '/team/tickets/{id}', title: 'Ticket', who: 'team', load: () => import('./Ticket.svelte') },
  { path: '/team/notices', title: 'Notices', who: 'team', load: () => import('./Notices.svelte') },
  { path: '/team/managers', title: 'Account managers', who: 'team', load: () => import('./Managers.svelte') },
];
