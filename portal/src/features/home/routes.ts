import type { Route } from '$router';

export const routes: Route[] = [{ path: '/', title: 'Home', who: 'customer', load: () => import('./Home.svelte') }];
