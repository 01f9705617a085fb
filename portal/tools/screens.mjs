// Writes the paths of all screens, so that the service answers 200 to them and 404 to everything else.
process.env.NODE_ENV = 'production';
const { writeFileSync } = await import('node:fs');
const { createServer } = await import('vite');

const server = await createServer({ mode: 'production', server: { middlewareMode: true, hmr: false, ws: false, watch: null }, appType: 'custom', optimizeDeps: { noDiscovery: true, include: [] }, logLevel: 'error' });
try {
  const { routes } = await server.ssrLoadModule('/src/routes.ts');
  const paths = routes.map(({ path }) => path).sort();
  const twice = paths.filter((path, index) => paths[index + 1] === path);
  if (twice.length > 0) throw new Error(`Two screens have the path ${twice.join(', ')}`);
  writeFileSync('dist/screens.json', `${JSON.stringify(paths, null, 2)}\n`);
  console.log(`${paths.length} screens`);
} finally {
  await server.close();
}
