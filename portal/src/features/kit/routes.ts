import type { Route } from '$router';

// Every part in one place, for those who build screens. Not in the built portal.
export const routes: Route[] = import.meta.env.DEV ? [{ path: '/kit', title: 'Parts', who: 'anyone', load: () => import('./Kit.svelte') }] : [];
