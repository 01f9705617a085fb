import type { Route } from '$router';
import { words } from './words';

export const routes: Route[] = [
  { path: '/numbers', title: words.title, who: 'customer', load: () => import('./Numbers.svelte') },
  { path: '/numbers/{id}', title: words.one, who: 'customer', load: () => import('./Number.svelte') },
  { path: '/numbers/order', title: words.order.title, who: 'customer', load: () => import('./Order.svelte') },
  { path: '/numbers/orders', title: words.orders.title, who: 'customer', load: () => import('./Orders.svelte') },
  { path: '/numbers/orders/{id}', title: words.orders.one, who: 'customer', load: () => import('./NumberOrder.svelte') },
];
