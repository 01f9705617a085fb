// Every screen of the portal: each feature brings its rows.
import type { Route } from '$router';

const features = import.meta.glob<{ routes: Route[] }>('./features/*/routes.ts', { eager: true });

export const routes: Route[] = Object.values(features).flatMap((feature) => feature.routes);
