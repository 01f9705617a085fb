import { fileURLToPath } from 'node:url';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

const service = process.env['TRUNKLINE_URL'] ?? 'http://127.0.0.1:8080';
const proxy = Object.fromEntries(['/v1', '/docs', '/sandbox'].map((path) => [path, { target: service, changeOrigin: false }]));
const folder = (name: string) => fileURLToPath(new URL(`./src/${name}/index.ts`, import.meta.url));

export default defineConfig({
  plugins: [svelte()],
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
        // One file for what every screen needs, so that the first load is not a chain of small ones.
        advancedChunks: {
          groups: [
            { name: 'base', test: /node_modules\/(?!uplot|uqr)|\/src\/(api|format|kit(?!\/chart\.ts)|router|session)\// },
          ],
        },
      },
    },
  },
  server: { port: 5173, proxy },
  preview: { proxy },
});
