import './app.css';
import { mount } from 'svelte';
import { start, useRoutes } from '$router';
import { routes } from './routes';
import App from './shell/App.svelte';

// A new version has other files: whoever still has the old page gets the new one with the next screen.
addEventListener('vite:preloadError', () => location.reload());

useRoutes(routes);
start();
const target = document.getElementById('app');
if (target) mount(App, { target });
