import type { Route } from '$router';

export const routes: Route[] = [
  { path: '/numbers', title: 'Numbers', who: 'customer', load: () => import('./Numbers.svelte') },
  { path: '/numbers/{id}', title: 'Number', who: 'customer', load: () => import('./Number.svelte') },
  { path: '/numbers/order', title: 'Order a number', who: 'customer', load: () => import('./Order.svelte') },
  { path: '/numbers/orders', title: 'Number orders', who: 'customer', load: () => import('./Orders.svelte') },
  { path: '/numbers/orders/{id}', title: 'Number order', who: 'customer', load: () => import('./NumberOrder.svelte') },
];
