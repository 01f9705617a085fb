import type { Route } from '$router';
import { words } from './words';

export const routes: Route[] = [{ path: '/', title: words.title, who: 'customer', load: () => import('./Home.svelte') }];
