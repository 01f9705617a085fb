// Series of usage and traffic: sums, the time axis without gaps, and what a chart shows of many series.
import type { Schema } from '$api';
import { about, sum } from '$format';

export type Point = Schema<'UsagePoint'> & { cost?: Schema<'ExactMoney'>; margin?: Schema<'ExactMoney'> };
export interface Series {
  key: string | null;
  name: string | null;
  points: Point[];
}
export interface Answer {
  interval: Schema<'Interval'>;
  time_zone: string;
  series: Series[];
  other: Series | null;
}
export type Measure = 'attempts' | 'minutes' | 'asr' | 'acd' | 'charge' | 'cost' | 'margin';

export interface Sums {
  attempts: number;
  answered: number;
  minutes: number;
  charge: Schema<'ExactMoney'>;
  cost?: Schema<'ExactMoney'>;
  margin?: Schema<'ExactMoney'>;
}

/** More lines than these cannot be told apart. */
const SHOWN = 5;
const HOUR = 3_600_000;

export function sums(points: Point[]): Sums {
  const money = (of: (point: Point) => Schema<'ExactMoney'> | undefined) => {
    const amounts = points.map(of).filter((amount) => amount !== undefined);
    return amounts.length > 0 ? sum(amounts) : undefined;
  };
  return {
    attempts: points.reduce((all, point) => all + point.attempts, 0),
    answered: points.reduce((all, point) => all + point.answered, 0),
    minutes: points.reduce((all, point) => all + point.minutes, 0),
    charge: sum(points.map((point) => point.charge)),
    cost: money((point) => point.cost),
    margin: money((point) => point.margin),
  };
}

export const asr = (of: Sums): number | null => (of.attempts > 0 ? of.answered / of.attempts : null);
export const acd = (of: Sums): number | null => (of.answered > 0 ? (of.minutes * 60) / of.answered : null);

export const everything = (answer: Answer): Series[] => (answer.other ? [...answer.series, answer.other] : answer.series);

/** The starts of all intervals of a range, also of those without calls; UTC days as dates. */
export function axis(interval: Schema<'Interval'>, isUtc: boolean, from: string, to: string): string[] {
  const end = to ? Date.parse(to) : Date.now();
  const starts: string[] = [];
  let at = startOf(interval, isUtc, new Date(from));
  while (at.getTime() < end && starts.length < 10_000) {
    starts.push(isUtc && interval === 'day' ? at.toISOString().slice(0, 10) : at.toISOString());
    at = interval === 'hour' ? new Date(at.getTime() + HOUR) : nextDay(isUtc, at);
  }
  return starts;
}

function startOf(interval: Schema<'Interval'>, isUtc: boolean, at: Date): Date {
  if (interval === 'hour') return new Date(Math.floor(at.getTime() / HOUR) * HOUR);
  if (isUtc) return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()));
  return new Date(at.getFullYear(), at.getMonth(), at.getDate());
}

function nextDay(isUtc: boolean, at: Date): Date {
  if (isUtc) return new Date(at.getTime() + 24 * HOUR);
  return new Date(at.getFullYear(), at.getMonth(), at.getDate() + 1);
}

function valueOf(points: Point[] | undefined, measure: Measure): number | null {
  const all = sums(points ?? []);
  switch (measure) {
    case 'asr':
      return asr(all);
    case 'acd':
      return acd(all);
    case 'attempts':
    case 'minutes':
      return all[measure];
    default:
      return about(all[measure] ?? all.charge);
  }
}

/** The highest series by a measure, and all others as one. */
export function lines(of: Series[], measure: Measure, times: string[], name: (series: Series) => string, rest: string) {
  const height = (series: Series) => {
    const all = sums(series.points);
    return measure === 'minutes' || measure === 'acd' ? all.minutes : measure === 'attempts' || measure === 'asr' ? all.attempts : about(all[measure] ?? all.charge);
  };
  const sorted = of.length > SHOWN ? [...of].sort((a, b) => height(b) - height(a)) : of;
  const groups = sorted.slice(0, SHOWN).map((series) => ({ label: name(series), points: series.points }));
  const others = sorted.slice(SHOWN).flatMap((series) => series.points);
  if (others.length > 0) groups.push({ label: rest, points: others });
  return groups.map(({ label, points }) => {
    const byTime = new Map<number, Point[]>();
    for (const point of points) {
      const at = Date.parse(point.at);
      byTime.set(at, [...(byTime.get(at) ?? []), point]);
    }
    return { label, values: times.map((at) => valueOf(byTime.get(Date.parse(at)), measure)) };
  });
}
