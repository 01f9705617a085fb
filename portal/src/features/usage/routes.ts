import type { Route } from '$router';

export const routes: Route[] = [{ path: '/usage', title: 'Usage', who: 'customer', load: () => import('./Usage.svelte') }];
