// Writes texts where they are used. Sources keep all text in words.ts; in the built portal `label={words.name}` becomes
// `label="Name"` and the text leaves words.ts, which saves its key twice and the code that would look it up. What is looked
// up at run time (`words.states[state]`), and texts that are functions, stay.
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'svelte/compiler';

const root = fileURLToPath(new URL('../src', import.meta.url));
const WORDS = /\/words(_\w+)?\.ts$/;
const SCRIPT = '<script lang="ts">';

/** The trees of a file with positions in its text: its scripts, and its markup if it has any. */
function parsed(file, text) {
  if (file.endsWith('.svelte')) return { ...parse(text, { modern: true }), shift: 0 };
  const { instance } = parse(`${SCRIPT}${text}</script>`, { modern: true });
  return { instance, shift: SCRIPT.length };
}
const TRANSPARENT = ['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression'];
const bare = (node) => (TRANSPARENT.includes(node?.type) ? bare(node.expression) : node);
const nameOf = (key) => (key.type === 'Identifier' ? key.name : String(key.value));
const textOf = (node) =>
  node.type === 'Literal' && typeof node.value === 'string' ? node.value
  : node.type === 'TemplateLiteral' && node.quasis.length === 1 ? node.quasis[0].value.cooked
  : undefined;

/** Names of a file that come from a words.ts, with the object that they stand for. */
function importedWords(file, path, objects) {
  const names = new Map();
  for (const script of [file.module, file.instance]) {
    for (const node of script?.content.body ?? []) {
      if (node.type !== 'ImportDeclaration' || !node.source.value.startsWith('.')) continue;
      const from = objects(`${resolve(dirname(path), node.source.value)}.ts`);
      for (const { imported, local } of node.specifiers) if (imported && from?.has(imported.name)) names.set(local.name, from.get(imported.name));
    }
  }
  return names;
}

/** `words.a.b` → ['words', 'a', 'b'], or undefined for anything else. */
function chain(node) {
  if (node?.type === 'Identifier') return [node.name];
  if (node?.type !== 'MemberExpression' || node.computed || node.optional) return undefined;
  const rest = chain(node.object);
  return rest && [...rest, node.property.name];
}

function* childrenOf(node) {
  for (const [key, value] of Object.entries(node)) {
    if (key === 'parent' || key === 'metadata' || key === 'css') continue;
    for (const child of Array.isArray(value) ? value : [value]) if (child && typeof child === 'object' && typeof child.type === 'string') yield [key, child];
  }
}

/** Everything below stays, whoever asks for it at run time. */
function keep(node) {
  node.isKept = true;
  for (const { of } of node.properties?.values() ?? []) keep(of);
}
const isLeft = (node) => node.isKept || (node.properties ? [...node.properties.values()].some(({ of }) => isLeft(of)) : node.text === undefined);

class Words {
  /** file → name of an object in it → the object */
  #objects = new Map();
  /** file → what to replace: [start, end, text] */
  edits = new Map();

  constructor(sources) {
    this.sources = sources;
    for (const path of sources.keys()) if (WORDS.test(path)) this.#objectsOf(path);
    for (const path of sources.keys()) if (!WORDS.test(path)) this.#inline(path);
    for (const path of this.#objects.keys()) this.edits.set(path, this.#cuts(path));
  }

  /** The objects of a words.ts. */
  #objectsOf(path) {
    if (!WORDS.test(path) || !this.sources.has(path)) return undefined;
    const known = this.#objects.get(path);
    if (known) return known;
    const found = new Map();
    this.#objects.set(path, found);
    const file = parsed(path, this.sources.get(path));
    const imported = importedWords(file, path, (from) => this.#objectsOf(from));
    const code = [];
    for (const node of file.instance.content.body) {
      const declared = (node.type === 'ExportNamedDeclaration' && node.declaration) || node;
      if (declared.type !== 'VariableDeclaration') continue;
      for (const { id, init } of declared.declarations) found.set(id.name, this.#tree(bare(init), { path, shift: file.shift, code, names: new Map([...imported, ...found]) }));
    }
    // What functions of the file look up.
    const visit = (node) => {
      const name = node.type === 'Identifier' && (found.get(node.name) ?? imported.get(node.name));
      if (name) keep(name);
      for (const [, child] of childrenOf(node)) visit(child);
    };
    code.forEach(visit);
    return found;
  }

  #tree(node, file) {
    const { path, shift, code, names } = file;
    const text = textOf(node);
    if (text !== undefined) return { path, text };
    if (node.type === 'Identifier' && names.has(node.name)) return names.get(node.name);
    const isPlain = node.type === 'ObjectExpression' && node.properties.every(({ type, computed }) => type === 'Property' && !computed);
    if (!isPlain) {
      code.push(node);
      return { path };
    }
    const properties = node.properties.map(({ key, value, start, end }) => [nameOf(key), { start: start - shift, end: end - shift, of: this.#tree(bare(value), file) }]);
    return { path, properties: new Map(properties) };
  }

  /** Replaces the texts in one file, and notes what it needs at run time. */
  #inline(path) {
    const source = this.sources.get(path);
    if (!/\/words(_\w+)?'/.test(source)) return;
    const file = parsed(path, source);
    const names = importedWords(file, path, (from) => this.#objectsOf(from));
    const edits = [];
    const aliases = new Map();

    const lookUp = (node) => {
      const [name, ...rest] = chain(node) ?? [];
      return rest.reduce((at, part) => at?.properties?.get(part)?.of, names.get(name));
    };
    // `const words = all.payments;` names a part of them.
    for (const script of [file.module, file.instance]) {
      for (const node of script?.content.body ?? []) {
        const [declared, another] = node.type === 'VariableDeclaration' && node.kind === 'const' ? node.declarations : [];
        const of = declared?.init && !another && declared.id.type === 'Identifier' && lookUp(declared.init);
        if (!of?.properties) continue;
        names.set(declared.id.name, of);
        aliases.set(node, { name: declared.id.name, from: chain(declared.init)[0], isUsed: false });
      }
    }
    const visit = (node, tag) => {
      if (aliases.has(node) || node.type === 'ImportDeclaration') return;
      if (node.type.startsWith('TS') && !TRANSPARENT.includes(node.type)) return;
      const of = lookUp(node);
      if (of?.text !== undefined) return void edits.push(inPlace(node, of.text, tag, file.shift));
      if (of) {
        keep(of);
        const [name] = chain(node);
        for (const alias of aliases.values()) if (alias.name === name) alias.isUsed = true;
        return;
      }
      for (const [key, child] of childrenOf(node)) {
        const isPropertyName = (key === 'key' || key === 'property') && !node.computed && !node.shorthand;
        const isBetweenTags = node.type === 'Fragment' && child.type === 'ExpressionTag';
        if (!isPropertyName) visit(child, isBetweenTags ? child : node === tag ? tag : undefined);
      }
    };
    for (const part of [file.module?.content, file.instance?.content, file.fragment]) if (part) visit(part);
    const needed = new Set();
    for (const [node, { name, from, isUsed }] of [...aliases].reverse()) {
      if (isUsed || needed.has(name)) needed.add(from);
      else edits.push([node.start - file.shift, node.end - file.shift, '']);
    }
    this.edits.set(path, edits);
  }

  /** Takes out of a words.ts what was written elsewhere. */
  #cuts(path) {
    const source = this.sources.get(path);
    const cuts = [];
    const cut = (node) => {
      if (node.path !== path || node.isKept) return;
      for (const { start, end, of } of node.properties?.values() ?? []) {
        if (isLeft(of)) cut(of);
        else cuts.push([start, end + (/^\s*,/.exec(source.slice(end))?.[0].length ?? 0), '']);
      }
    };
    for (const node of this.#objects.get(path).values()) cut(node);
    return cuts;
  }
}

/** `{words.name}` between tags becomes text, anything else a literal. */
function inPlace(node, text, tag, shift) {
  if (tag && text && text === text.trim() && !/\s\s|\n/.test(text)) {
    const entities = { '&': '&amp;', '<': '&lt;', '{': '&#123;', '}': '&#125;' };
    return [tag.start, tag.end, text.replace(/[&<{}]/g, (char) => entities[char])];
  }
  const literal = text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n');
  return [node.start - shift, node.end - shift, `'${literal}'`];
}

function applied(source, edits) {
  let text = source;
  for (const [start, end, replacement] of edits.toSorted((a, b) => b[0] - a[0])) text = text.slice(0, start) + replacement + text.slice(end);
  return text;
}

/** A plugin of Vite, for builds. */
export function inlineWords() {
  let words;
  return {
    name: 'portal:words',
    enforce: 'pre',
    apply: 'build',
    buildStart() {
      const files = readdirSync(root, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && /\.(svelte|ts)$/.test(entry.name) && !entry.name.endsWith('.d.ts'))
        .map((entry) => `${entry.parentPath}/${entry.name}`);
      words = new Words(new Map(files.map((path) => [path, readFileSync(path, 'utf8')])));
    },
    transform(code, id) {
      const edits = words.edits.get(id);
      return edits && edits.length > 0 ? { code: applied(code, edits), map: null } : undefined;
    },
  };
}
