// Every operation of the API is used by a screen, or listed in operations.json with the reason why not.
import { readFileSync, readdirSync } from 'node:fs';

const { paths } = JSON.parse(readFileSync('../openapi.json', 'utf8'));
const excused = JSON.parse(readFileSync('operations.json', 'utf8'));

const files = readdirSync('src', { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.(svelte|ts)$/.test(entry.name) && !entry.name.endsWith('.d.ts'))
  .map((entry) => readFileSync(`${entry.parentPath}/${entry.name}`, 'utf8'));

const quoted = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');

/** The path as a literal: in a read, after the method of a change, or in a file that sends to a `path` it was given. */
function isUsed(method, path) {
  const literal = `['"\`](?:/v1)?${quoted(path)}['"\`]`;
  const forms =
    method === 'get'
      ? [`\\b(?:read|list|download|fetch)\\([^;]{0,160}?${literal}`, `'get',[^;]{0,160}?${literal}`, `(?:rows<[^\\n]*>|fetch)\\(${literal}`]
      : [`'${method}',[^;]{0,160}?${literal}`, `${literal}, \\{ method: '${method.toUpperCase()}'`];
  if (method === 'post') forms.push(`\\b(?:upload|post)\\(\\s*${literal}`);
  const direct = new RegExp(forms.join('|'));
  const given = new RegExp(method === 'get' ? '\\b(?:read|list)\\(\\s*path\\b' : `'${method}', path\\b`);
  const mentioned = new RegExp(literal);
  return files.some((text) => direct.test(text) || (given.test(text) && mentioned.test(text)));
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
