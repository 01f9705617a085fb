// How much a visitor loads, in brotli. Fails when the portal grows past its budgets.
import { readFileSync, readdirSync, statSync } from 'node:fs';

const KB = 1024;
const FIRST_LOAD = 90 * KB;
const WHOLE = 300 * KB;
const SCREEN = 15 * KB;

const manifest = JSON.parse(readFileSync('node_modules/.portal/manifest.json', 'utf8'));
function size(file) {
  try {
    return statSync(`dist/${file}.br`).size;
  } catch {
    return statSync(`dist/${file}`).size;
  }
}
const kb = (bytes) => `${(bytes / KB).toFixed(1)} KB`.padStart(9);

/** A chunk's files and those it cannot run without. */
function filesOf(key, seen = new Set()) {
  const chunk = manifest[key];
  if (!chunk || seen.has(chunk.file)) return seen;
  seen.add(chunk.file);
  for (const css of chunk.css ?? []) seen.add(css);
  for (const next of chunk.imports ?? []) filesOf(next, seen);
  return seen;
}
const sum = (files) => [...files].reduce((total, file) => total + size(file), 0);

const faults = [];
function check(name, bytes, budget) {
  const over = bytes > budget;
  console.log(`${kb(bytes)} of ${kb(budget)}  ${name}${over ? '  OVER BUDGET' : ''}`);
  if (over) faults.push(name);
}

const named = (name) => Object.keys(manifest).find((key) => manifest[key].name === name && manifest[key].file.endsWith('.js'));
const base = filesOf(named('base'));
check('first load (page and sign-in)', sum(new Set([...base, ...filesOf(named('sign_in'))])) + size('index.html'), FIRST_LOAD);

const all = readdirSync('dist', { recursive: true }).filter((name) => /\.(js|css|html|svg)$/.test(name));
check('whole portal', sum(all), WHOLE);

const chunks = Object.values(manifest)
  .filter(({ file, name }) => file.endsWith('.js') && name !== 'base')
  .map(({ file, name, css = [] }) => ({ name, bytes: sum([file, ...css]) }))
  .sort((a, b) => b.bytes - a.bytes);
for (const { name, bytes } of chunks.filter((chunk, index) => index < 5 || chunk.bytes > SCREEN)) check(`screens of ${name}`, bytes, SCREEN);

process.exitCode = faults.length > 0 ? 1 : 0;
