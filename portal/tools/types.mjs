// Writes the types of the API from the service's own description.
import { existsSync, statSync, writeFileSync } from 'node:fs';
import openapi, { astToString } from 'openapi-typescript';

const source = new URL('../../openapi.json', import.meta.url);
const target = new URL('../src/api/schema.d.ts', import.meta.url);
if (!existsSync(target) || statSync(target).mtimeMs < statSync(source).mtimeMs) {
  writeFileSync(target, astToString(await openapi(source)));
  console.log('src/api/schema.d.ts written');
}
