import type { Route } from '$router';
import { words } from './words';

export const routes: Route[] = [
  { path: '/onboarding', title: words.title, who: 'customer', load: () => import('./Onboarding.svelte') },
];
