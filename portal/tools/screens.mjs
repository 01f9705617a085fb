// Writes the paths of all screens, so that the service answers 200 to them and 404 to everything else.
process.env.NODE_ENV = 'production';
const { writeFileSync } = await import('node:fs');
const { createServer } = await import('vite');

// Only paths matter here; whatever a table of routes imports, such as its titles, is replaced by a stand-in.
const standIn = {
  name: 'stand-in',
  enforce: 'pre',
  resolveId: (_, importer) => (/\/features\/\w+\/routes\.ts$/.test(importer ?? '') ? '\0stand-in' : undefined),
  load: (id) => (id === '\0stand-in' ? 'const any = new Proxy(() => any, { get: () => any, apply: () => any });\nexport const words = any;\nexport default any;' : undefined),
};

const server = await createServer({ plugins: [standIn], mode: 'production', server: { middlewareMode: true, hmr: false, ws: false, watch: null }, appType: 'custom', optimizeDeps: { noDiscovery: true, include: [] }, logLevel: 'error' });
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
