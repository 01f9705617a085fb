// What the types cannot see: markup that the page's policy refuses, and rules of this code.
import { readFileSync, readdirSync } from 'node:fs';

const MARKUP = [
  [/\{@html/, 'raw HTML is never rendered'],
  [/\sstyle[=:]/, 'the policy refuses style attributes; use the action css of $kit'],
];
const RULES = [
  [/\bon:[a-z]+=|\$:\s|\bexport let\b/, 'Svelte 5 runes only'],
  [/from '@lucide\/svelte'/, 'import icons one by one from @lucide/svelte/icons/<name>'],
  [/(?:src|href)="https?:\/\//, 'nothing is loaded from elsewhere'],
  [/\bfrom '\$(api|kit|format|router|session)\//, 'use what the folder exports'],
];
const MAX_LINES = 300;
const faults = [];

for (const entry of readdirSync('src', { recursive: true, withFileTypes: true })) {
  const path = `${entry.parentPath}/${entry.name}`;
  if (!entry.isFile() || !/\.(svelte|ts)$/.test(path) || path.endsWith('schema.d.ts')) continue;
  const lines = readFileSync(path, 'utf8').split('\n');
  if (lines.length > MAX_LINES + 1) faults.push(`${path}: ${lines.length} lines, at most ${MAX_LINES}`);
  let inMarkup = path.endsWith('.svelte');
  lines.forEach((line, index) => {
    if (/^<(script|style)\b/.test(line)) inMarkup = false;
    for (const [pattern, why] of inMarkup ? [...MARKUP, ...RULES] : RULES) if (pattern.test(line)) faults.push(`${path}:${index + 1}: ${why}`);
    if (/^<\/(script|style)>/.test(line)) inMarkup = true;
  });
}
for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;
