import type { Route } from '$router';

// API keys, webhook endpoints, events and the user's own security are the same screens for customers and the team.
export const routes: Route[] = [
  { path: '/settings/company', title: 'Company', who: 'customer', load: () => import('./company/Company.svelte') },
  { path: '/settings/vat', title: 'VAT', who: 'customer', load: () => import('./company/Vat.svelte') },
  { path: '/settings/limits', title: 'Limits', who: 'customer', load: () => import('./company/Limits.svelte') },
  { path: '/settings/people', title: 'People', who: 'customer', load: () => import('./people/People.svelte') },
  { path: '/settings/api-keys', title: 'API keys', who: 'customer', load: () => import('./keys/Keys.svelte') },
  { path: '/settings/webhooks', title: 'Webhooks', who: 'customer', load: () => import('./webhooks/Endpoints.svelte') },
  { path: '/settings/webhooks/{id}', title: 'Webhook', who: 'customer', load: () => import('./webhooks/Endpoint.svelte') },
  { path: '/settings/events', title: 'Events', who: 'customer', load: () => import('./events/Events.svelte') },
  { path: '/settings/notifications', title: 'Notifications by mail', who: 'customer', load: () => import('./company/Preferences.svelte') },
  { path: '/settings/security', title: 'Security', who: 'customer', load: () => import('./security/Security.svelte') },
  { path: '/team/profile', title: 'Your security', who: 'team', load: () => import('./security/Security.svelte') },
  { path: '/team/api-keys', title: 'API keys', who: 'team', load: () => import('./keys/Keys.svelte') },
  { path: '/team/webhooks', title: 'Webhooks', who: 'team', load: () => import('./webhooks/Endpoints.svelte') },
  { path: '/team/webhooks/{id}', title: 'Webhook', who: 'team', load: () => import('./webhooks/Endpoint.svelte') },
  { path: '/team/events', title: 'Events', who: 'team', load: () => import('./events/Events.svelte') },
];
