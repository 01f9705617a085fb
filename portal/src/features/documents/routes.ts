import type { Route } from '$router';

export const routes: Route[] = [
  { path: '/documents', title: 'Documents', who: 'customer', load: () => import('./Documents.svelte') },
  { path: '/documents/{id}', title: 'Documents of a review', who: 'customer', load: () => import('./Intake.svelte') },
];
