// Sums over a filtered set of calls.
import type { Schema } from '$api';
import { sum } from '$format';

type ExactMoney = Schema<'ExactMoney'>;
export interface Totals {
  calls: number;
  answered: number;
  seconds: number;
  charge: ExactMoney;
  /** The team sees these too. */
  cost?: ExactMoney;
  margin?: ExactMoney;
}

export interface CountedCall {
  status: Schema<'CallStatus'>;
  duration_seconds: number;
  customer_charge: ExactMoney;
  our_cost?: ExactMoney;
  margin?: ExactMoney;
}
type Point = Schema<'UsagePoint'> & { cost?: ExactMoney; margin?: ExactMoney };

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Filters that the rollups can answer too, and their group. */
const GROUPS: Record<string, string> = { trunk_id: 'trunk', country: 'country', account_id: 'customer', upstream_id: 'upstream' };

const known = (amounts: (ExactMoney | undefined)[]) => {
  const given = amounts.filter((amount) => amount !== undefined);
  return given.length > 0 ? sum(given) : undefined;
};

export function ofCalls(calls: CountedCall[]): Totals {
  return {
    calls: calls.length,
    answered: calls.filter((call) => call.status === 'answered').length,
    seconds: calls.reduce((all, call) => all + call.duration_seconds, 0),
    charge: sum(calls.map((call) => call.customer_charge)),
    cost: known(calls.map((call) => call.our_cost)),
    margin: known(calls.map((call) => call.margin)),
  };
}

function ofPoints(points: Point[]): Totals {
  return {
    calls: points.reduce((all, point) => all + point.attempts, 0),
    answered: points.reduce((all, point) => all + point.answered, 0),
    seconds: Math.round(points.reduce((all, point) => all + point.minutes, 0) * 60),
    charge: sum(points.map((point) => point.charge)),
    cost: known(points.map((point) => point.cost)),
    margin: known(points.map((point) => point.margin)),
  };
}

function groupFilter(filters: Record<string, string>): string | undefined {
  return Object.keys(filters).find((name) => name in GROUPS && filters[name]);
}

/** The series that has exactly the calls of these filters, if there is one: rollups are by the hour and one group. */
export function rollupQuery(filters: Record<string, string>) {
  const { from = '', to = '', ...others } = filters;
  const set = Object.keys(others).filter((name) => others[name]);
  if (!from || set.length > 1 || set.some((name) => !(name in GROUPS))) return null;
  const [start, end] = [Date.parse(from), to ? Date.parse(to) : Date.now()];
  const isWhole = (unit: number) => start % unit === 0 && (!to || end % unit === 0);
  const interval = isWhole(DAY) ? 'day' : isWhole(HOUR) ? 'hour' : null;
  const days = (end - start) / DAY;
  if (!interval || !(days > 0) || days > (interval === 'day' ? 399 : 31)) return null;
  return { from, to, interval, group_by: set[0] ? (GROUPS[set[0]] ?? '') : '' };
}

const plainId = (id: string | null) => id?.replace(/^[a-z]+_/, '').replaceAll('-', '');

/** The sums of such a series; null if the group asked for is hidden in the rest. */
export function ofRollup(answer: Schema<'Usage'> | Schema<'Traffic'>, filters: Record<string, string>): Totals | null {
  const filter = groupFilter(filters);
  const series = answer.series.find((one) => !filter || plainId(one.key) === plainId(filters[filter] ?? null));
  if (!series && answer.other) return null;
  return ofPoints(series?.points ?? []);
}
