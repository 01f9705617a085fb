export { current, isChanged, match, navigate, params, start, useRoutes, type Match, type Route, type Who } from './router.svelte';
