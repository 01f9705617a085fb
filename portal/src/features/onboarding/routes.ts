import type { Route } from '$router';

export const routes: Route[] = [
  { path: '/onboarding', title: 'Onboarding', who: 'customer', load: () => import('./Onboarding.svelte') },
];
