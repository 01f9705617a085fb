export { current, isChanged, match, navigate, params, resetOf, start, useRoutes, type Match, type Route, type Who } from './router.svelte';
