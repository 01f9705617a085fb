import type { Route } from '$router';

export const routes: Route[] = [
  { path: '/team/reviews', title: 'Reviews', who: 'team', load: () => import('./Reviews.svelte') },
  { path: '/team/reviews/kyb/{id}', title: 'KYB review', who: 'team', load: () => import('./Kyb.svelte') },
  { path: '/team/reviews/documents/{id}', title: 'Document review', who: 'team', load: () => import('./Documents.svelte') },
];
