import type { Route } from '$router';
import { words } from './words';

export const routes: Route[] = [
  { path: '/documents', title: words.title, who: 'customer', load: () => import('./Documents.svelte') },
  { path: '/documents/{id}', title: words.one, who: 'customer', load: () => import('./Intake.svelte') },
];
