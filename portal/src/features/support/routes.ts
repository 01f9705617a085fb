import type { Route } from '$router';

export const routes: Route[] = [
  { path: '/support', title: 'Support', who: 'customer', load: () => import('./Tickets.svelte') },
  { path: '/support/new', title: 'New ticket', who: 'customer', load: () => import('./NewTicket.svelte') },
  { path: '/support/{id}', title: 'Ticket', who: 'customer', load: () => import('./Ticket.svelte') },
];
