import type { Route } from '$router';

export const routes: Route[] = [
  { path: '/team/onboarding', title: 'Customers in onboarding', who: 'team', load: () => import('./Onboarding.svelte') },
  { path: '/team/waitlist', title: 'Waitlist', who: 'team', load: () => import('./Waitlist.svelte') },
  { path: '/team/waitlist/{id}', title: 'Signup', who: 'team', load: () => import('./Signup.svelte') },
  { path: '/team/dunning', title: 'Dunning', who: 'team', load: () => import('./Dunning.svelte') },
];
