// Icons of Lucide as one path each, drawn by src/kit/Icon.svelte. The library's own component brings far more than the
// portal uses of it.
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ICON = /\/@lucide\/svelte\/dist\/icons\/[\w-]+\.js$/;
const drawing = fileURLToPath(new URL('../src/kit/Icon.svelte', import.meta.url));

const ellipse = (cx, cy, rx, ry) => `M${cx - rx} ${cy}a${rx} ${ry} 0 1 0 ${2 * rx} 0a${rx} ${ry} 0 1 0 ${-2 * rx} 0`;
function rect({ x = 0, y = 0, width, height, rx, ry = rx ?? 0 }) {
  const [r, s] = [Number(rx ?? ry), Number(ry)];
  const [w, h] = [width - 2 * r, height - 2 * s];
  if (!r) return `M${x} ${y}h${w}v${h}h${-w}z`;
  return `M${Number(x) + r} ${y}h${w}a${r} ${s} 0 0 1 ${r} ${s}v${h}a${r} ${s} 0 0 1 ${-r} ${s}h${-w}a${r} ${s} 0 0 1 ${-r} ${-s}v${-h}a${r} ${s} 0 0 1 ${r} ${-s}z`;
}
const SHAPES = {
  path: ({ d }) => d,
  circle: ({ cx, cy, r }) => ellipse(Number(cx), Number(cy), Number(r), Number(r)),
  ellipse: ({ cx, cy, rx, ry }) => ellipse(Number(cx), Number(cy), Number(rx), Number(ry)),
  line: ({ x1, y1, x2, y2 }) => `M${x1} ${y1}L${x2} ${y2}`,
  polyline: ({ points }) => `M${points}`,
  polygon: ({ points }) => `M${points}z`,
  rect,
};

/** All shapes of an icon in one path. A path may begin relative to nothing, so it is put behind the origin. */
function pathOf(nodes) {
  const parts = nodes.map(([shape, attributes]) => SHAPES[shape](attributes));
  return parts.map((part, index) => (index > 0 && part.startsWith('m') ? `M0 0${part}` : part)).join('');
}

/** A plugin of Vite. */
export const icons = () => ({
  name: 'portal:icons',
  enforce: 'pre',
  load(id) {
    if (!ICON.test(id)) return undefined;
    // An icon may be another's second name.
    const file = /from "\.\/([\w-]+\.svelte)"/.exec(readFileSync(id, 'utf8'))?.[1];
    const data = file && /const iconData = (\{.*\});/.exec(readFileSync(resolve(dirname(id), file), 'utf8'))?.[1];
    if (!data) throw new Error(`${id} does not look like an icon`);
    return `import Icon from ${JSON.stringify(drawing)};
const d = ${JSON.stringify(pathOf(JSON.parse(data).node))};
export default (anchor, props) => Icon(anchor, { d, get size() { return props.size; } });`;
  },
});
