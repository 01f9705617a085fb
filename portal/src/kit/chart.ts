// Draws a time series with uPlot. In a chunk of its own: only screens with charts load it.
import 'uplot/dist/uPlot.min.css';
import uPlot from 'uplot';
import { clock, shortDay } from '$format';

export type Drawn = { destroy(): void; setSize(width: number): void };
export type Settings = {
  times: number[];
  series: { label: string; values: (number | null)[] }[];
  kind: 'line' | 'bars' | 'area';
  height: number;
  utc: boolean;
  format: (n: number) => string;
  onpoint: (index: number | undefined) => void;
  onzoom?: (from: number, to: number) => void;
};

/** The canvas cannot read `light-dark()`, so an element resolves it. */
function colour(host: HTMLElement, value: string): string {
  const probe = document.createElement('i');
  probe.style.setProperty('color', value);
  host.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

const faint = (rgb: string, share: number) => rgb.replace(/^rgb\((.*)\)$/, (_, parts: string) => `rgba(${parts}, ${share})`);

/** Ticks in the reader's language and zone: times within a day, otherwise days; the year where there are several. */
function tickText(ticks: number[]): string[] {
  const step = (ticks[1] ?? 0) - (ticks[0] ?? 0);
  const span = (ticks.at(-1) ?? 0) - (ticks[0] ?? 0);
  let before = '';
  return ticks.map((tick) => {
    const day = shortDay(tick * 1000, span > 300 * 86_400);
    const isNew = day !== before;
    before = day;
    if (step >= 86_400) return day;
    return isNew ? `${clock(tick * 1000)}\n${day}` : clock(tick * 1000);
  });
}

/** From the first point to the last; bars stand on their point, so half of one is added at both ends. */
function ends(times: number[], isBars: boolean): [number, number] {
  const [first = 0, last = 0] = [times[0], times.at(-1)];
  const gap = times.length > 1 ? Math.min(...times.slice(1).map((at, index) => at - (times[index] ?? 0))) : 3600;
  return isBars ? [first - gap / 2, last + gap / 2] : [first, last > first ? last : first + 60];
}

export function draw(host: HTMLElement, settings: Settings): Drawn {
  const { times, series, kind, height, utc, format, onpoint, onzoom } = settings;
  const ink = colour(host, 'var(--muted)');
  const line = colour(host, 'var(--line)');
  const font = '12px system-ui, sans-serif';
  const bars = kind === 'bars' ? uPlot.paths.bars?.({ size: [0.72, 48], radius: 0.12 }) : undefined;
  const range = ends(times, kind === 'bars');
  const axis = { stroke: ink, font, grid: { stroke: line, width: 1 }, ticks: { show: false } };
  const widest = Math.max(...series.flatMap(({ values }) => values.map((value) => format(value ?? 0).length)), 2);

  const plot = new uPlot(
    {
      width: host.clientWidth,
      height,
      legend: { show: false },
      padding: [8, 8, 0, 0],
      tzDate: utc ? (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC') : undefined,
      cursor: { y: false, points: { size: 7 }, drag: { x: onzoom !== undefined, y: false, setScale: false } },
      scales: { x: { range: () => range }, y: { range: (_, low, high) => [Math.min(0, low ?? 0), (high ?? 0) > 0 ? high * 1.08 : 1] } },
      axes: [
        { ...axis, grid: { show: false }, space: 76, values: (_, ticks) => tickText(ticks) },
        { ...axis, size: Math.min(96, 20 + widest * 7), values: (_, ticks) => ticks.map((tick) => (tick === null ? '' : format(tick))) },
      ],
      series: [
        {},
        ...series.map(({ label }, index) => {
          const stroke = colour(host, `var(--series-${(index % 6) + 1})`);
          return {
            label,
            stroke,
            width: kind === 'bars' ? 0 : 1.75,
            fill: kind === 'bars' ? stroke : kind === 'area' ? faint(stroke, 0.14) : undefined,
            paths: bars,
            points: { show: kind !== 'bars' && times.length < 2, size: 6 },
            spanGaps: false,
          };
        }),
      ],
      hooks: {
        setCursor: [(self) => onpoint(self.cursor.idx ?? undefined)],
        setSelect: [
          (self) => {
            const { left, width } = self.select;
            if (width < 6 || !onzoom) return;
            onzoom(self.posToVal(left, 'x'), self.posToVal(left + width, 'x'));
            self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          },
        ],
      },
    },
    [times, ...series.map(({ values }) => values)],
    host,
  );
  return { destroy: () => plot.destroy(), setSize: (width) => plot.setSize({ width, height }) };
}
