// Where the marks of a chart's axes are, and the paths of its series.
import { clock, shortDay } from '$format';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Distances of marks in time: the shorter ones in minutes of a day, then days, then months. */
const STEPS: { length: number; minutes?: number; days?: number; months?: number }[] = [
  ...[1, 5, 15, 30, 60, 180, 360, 720].map((minutes) => ({ length: minutes * MINUTE, minutes })),
  ...[1, 2, 7, 14].map((days) => ({ length: days * DAY, days })),
  ...[1, 3, 6, 12, 24, 60].map((months) => ({ length: months * 30 * DAY, months })),
];
const MAX_MARKS = 40;

/** Round values from the lowest to the highest, about this many. */
export function valueMarks(low: number, high: number, about: number): number[] {
  const rough = (high - low) / Math.max(1, about);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 2.5, 5, 10].find((one) => one * power >= rough) ?? 10) * power;
  const first = Math.ceil(low / step);
  // A multiple of the step, not a sum of steps, so that 0.3 is not 0.30000000000000004.
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}

/** Round moments of the reader's zone or of UTC, at most this many; between days there are none. */
export function timeMarks(from: number, to: number, most: number, utc: boolean, isDays: boolean): { at: number; text: string; day?: string }[] {
  const step = STEPS.find(({ length, minutes }) => !(isDays && minutes) && (to - from) / length <= Math.max(1, most)) ?? STEPS.at(-1);
  const date = new Date(from);
  const [year, month, day] = utc ? [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()] : [date.getFullYear(), date.getMonth(), date.getDate()];
  const moment = (months: number, days: number, minutes: number) =>
    utc ? Date.UTC(year, months, days, 0, minutes) : new Date(year, months, days, 0, minutes).getTime();
  const nth = (n: number) =>
    step?.minutes ? moment(month, day, n * step.minutes)
    : step?.days ? moment(month, day + n * step.days, 0)
    : moment(month - (month % Math.min(12, step?.months ?? 1)) + n * (step?.months ?? 1), 1, 0);

  const marks: { at: number; text: string; day?: string }[] = [];
  let before = '';
  for (let n = 0; marks.length < MAX_MARKS && n < 5000; n++) {
    const at = nth(n);
    if (at > to) break;
    if (at < from || at === marks.at(-1)?.at) continue;
    // A date belongs to no zone, so it is named as it is.
    const date = shortDay(utc ? new Date(at).toISOString().slice(0, 10) : at, step?.months !== undefined);
    marks.push(step?.minutes ? { at, text: clock(at), day: date === before ? undefined : date } : { at, text: date });
    before = date;
  }
  return marks;
}

/** From the first point to the last; bars stand on their point, so half of one is added at both ends. */
export function ends(times: number[], isBars: boolean, isDays: boolean): { from: number; to: number; gap: number } {
  const [first = 0, last = 0] = [times[0], times.at(-1)];
  const gap = times.length > 1 ? Math.min(...times.slice(1).map((at, index) => at - (times[index] ?? 0))) : isDays ? DAY : HOUR;
  return isBars ? { from: first - gap / 2, to: last + gap / 2, gap } : { from: first, to: last > first ? last : first + MINUTE, gap };
}

type Point = [x: number, y: number] | undefined;
const at = ([x, y]: [number, number]) => `${x.toFixed(1)} ${y.toFixed(1)}`;

/** The points between two gaps. */
function runs(points: Point[]): [number, number][][] {
  const found: [number, number][][] = [[]];
  for (const point of points) {
    if (point) found.at(-1)?.push(point);
    else found.push([]);
  }
  return found.filter(({ length }) => length > 0);
}

export const linePath = (points: Point[]) => runs(points).map((run) => `M${run.map(at).join('L')}`).join('');
export const areaPath = (points: Point[], base: number) =>
  runs(points).map((run) => `M${(run[0]?.[0] ?? 0).toFixed(1)} ${base.toFixed(1)}L${run.map(at).join('L')}V${base.toFixed(1)}Z`).join('');
export const barPath = (points: Point[], base: number, width: number) =>
  points.map((point) => (point && point[1] !== base ? `M${(point[0] - width / 2).toFixed(1)} ${base.toFixed(1)}V${point[1].toFixed(1)}h${width.toFixed(1)}V${base.toFixed(1)}Z` : '')).join('');
