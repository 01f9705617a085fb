import type { Route } from '$router';

export const routes: Route[] = [{ path: '/team', title: 'Today', who: 'team', load: () => import('./Today.svelte') }];
