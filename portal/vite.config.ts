import { fileURLToPath } from 'node:url';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';
import { icons } from './tools/icons.mjs';
import { inlineWords } from './tools/words.mjs';

const service = process.env['TRUNKLINE_URL'] ?? 'http://127.0.0.1:8080';
const proxy = Object.fromEntries(['/v1', '/docs', '/manual', '/sandbox'].map((path) => [path, { target: service, changeOrigin: false }]));
const folder = (name: string) => fileURLToPath(new URL(`./src/${name}/index.ts`, import.meta.url));

const LATER = /\/src\/(kit\/(Plot\.svelte|plot\.ts)|shell\/(Palette|Reauthenticate|SignInAgain)\.svelte|shell\/(commands|found)\.ts)/;
const FIRST = /node_modules\/|\/src\/((api|format|kit|router|session|shell)\/|main\.ts|routes\.ts|features\/\w+\/routes\.ts)/;
const isBase = (id: string) => FIRST.test(id) && !LATER.test(id);
/** Small features that need the same other files share one: apart, each would repeat what they import. */
const TOGETHER: Record<string, string> = {
  checkout: 'sign_in',
  disputes: 'rates',
  onboarding: 'home',
  'settings-events': 'settings-people',
  'settings-keys': 'settings-security',
  'settings-webhooks': 'settings-company',
  team_reviews: 'team_queues',
};
function featureOf(id: string): string | null {
  const name = /\/src\/features\/(\w+)\/(?:(\w+)\/)?/.exec(id)?.slice(1).filter(Boolean).join('-');
  return name ? (TOGETHER[name] ?? name) : null;
}

export default defineConfig({
  plugins: [icons(), inlineWords(), svelte()],
  resolve: {
    alias: Object.fromEntries(['api', 'format', 'kit', 'router', 'session'].map((name) => [`$${name}`, folder(name)])),
  },
  build: {
    target: 'es2023',
    // Nothing is inlined, so that the page's policy needs no exceptions.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    manifest: true,
    rolldownOptions: {
      output: {
        // One file for what every screen needs and about one for each feature: many small files load slower and compress worse.
        advancedChunks: {
          groups: [
            { name: 'base', test: isBase },
            // A feature that grows past the budget of a screen is split.
            { name: featureOf, test: /\/src\/features\//, maxSize: 130_000 },
          ],
        },
      },
    },
  },
  server: { port: 5173, proxy },
  preview: { proxy },
});
