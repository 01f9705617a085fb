import type { Route } from '$router';

export const routes: Route[] = [{ path: '/welcome', title: 'Welcome', who: 'anyone', load: () => import('./Welcome.svelte') }];
