// Every operation of the API is used by a screen, or listed in operations.json with the reason why not.
import { readFileSync, readdirSync } from 'node:fs';

const { paths } = JSON.parse(readFileSync('../openapi.json', 'utf8'));
const excused = JSON.parse(readFileSync('operations.json', 'utf8'));

const source = readdirSync('src', { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.(svelte|ts)$/.test(entry.name) && !entry.name.endsWith('.d.ts'))
  .map((entry) => readFileSync(`${entry.parentPath}/${entry.name}`, 'utf8'))
  .join('\n');

const quoted = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');

/** The path as a literal; for a change, after the name of its method in the same call. */
function isUsed(method, path) {
  const literal = `['"\`](?:/v1)?${quoted(path)}['"\`]`;
  if (method === 'get') {
    return new RegExp(`(?:\\b(?:read|list|download|rows(?:<[^>]*>)?|fetch)\\(\\s*|'get',\\s*|: \\s*|[?=]\\s*|\\(\\s*)${literal}`).test(source);
  }
  if (new RegExp(`'${method}',\\s*(?:[^'"\`()]*[?:]\\s*)*${literal}`).test(source)) return true;
  if (method === 'post' && new RegExp(`\\b(?:upload|post)\\(\\s*${literal}`).test(source)) return true;
  return new RegExp(`${literal}, \\{ method: '${method.toUpperCase()}'`).test(source);
}

const faults = [];
for (const [path, item] of Object.entries(paths)) {
  for (const method of ['get', 'post', 'put', 'patch', 'delete']) {
    const id = item[method]?.operationId;
    if (!id) continue;
    const used = isUsed(method, path);
    if (!used && !excused[id]) faults.push(`${id} (${method.toUpperCase()} ${path}) is used by no screen: use it, or say in operations.json why not`);
    if (used && excused[id]) faults.push(`${id} is used by a screen: take it out of operations.json`);
  }
}
const known = new Set(Object.values(paths).flatMap((item) => Object.values(item).map(({ operationId }) => operationId)));
for (const id of Object.keys(excused)) if (!known.has(id)) faults.push(`operations.json names ${id}, which the API does not have`);

for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;
