// Writes a .br and a .gz beside every asset that gets smaller by it, so that the service only has to hand them out.
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

// What Vite knows about the chunks is for the budgets, not for the service.
mkdirSync('node_modules/.portal', { recursive: true });
renameSync('dist/.vite/manifest.json', 'node_modules/.portal/manifest.json');
rmSync('dist/.vite', { recursive: true });

const quality = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 22 };
for (const entry of readdirSync('dist', { recursive: true, withFileTypes: true })) {
  const path = `${entry.parentPath}/${entry.name}`;
  if (!entry.isFile() || !/\.(js|css|html|svg|webmanifest)$/.test(path)) continue;
  const body = readFileSync(path);
  const br = brotliCompressSync(body, { params: { ...quality, [constants.BROTLI_PARAM_SIZE_HINT]: body.length } });
  const gz = gzipSync(body, { level: 9 });
  if (br.length < body.length) writeFileSync(`${path}.br`, br);
  if (gz.length < body.length) writeFileSync(`${path}.gz`, gz);
}
