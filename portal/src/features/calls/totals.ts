// Sums over a filtered set of calls.
import type { Schema } from '$api';
import type { CallFilters } from './filters';
import { sum } from './exact';

export interface Totals {
  calls: number;
  answered: number;
  seconds: number;
  charge: Schema<'ExactMoney'>;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

type Call = Pick<Schema<'CdrListItem'>, 'status' | 'duration_seconds' | 'customer_charge'>;

export function ofCalls(calls: Call[]): Totals {
  return {
    calls: calls.length,
    answered: calls.filter((call) => call.status === 'answered').length,
    seconds: calls.reduce((all, call) => all + call.duration_seconds, 0),
    charge: sum(calls.map((call) => call.customer_charge)),
  };
}

export function ofPoints(points: Schema<'UsagePoint'>[]): Totals {
  return {
    calls: points.reduce((all, point) => all + point.attempts, 0),
    answered: points.reduce((all, point) => all + point.answered, 0),
    seconds: Math.round(points.reduce((all, point) => all + point.minutes, 0) * 60),
    charge: sum(points.map((point) => point.charge)),
  };
}

export interface UsageQuery {
  from: string;
  to?: string;
  interval: Schema<'Interval'>;
  group_by?: 'trunk' | 'country';
}

/** The usage that has exactly the calls of these filters, if there is one: rollups know whole hours, trunks and countries. */
export function usageQuery(filters: CallFilters): UsageQuery | null {
  const { from, to, trunk_id, country } = filters;
  if (filters.status || filters.leg || filters.calling || filters.called || filters.call_id) return null;
  if (!from || (trunk_id && country)) return null;
  const [start, end] = [Date.parse(from), to ? Date.parse(to) : Date.now()];
  const isWhole = (unit: number) => start % unit === 0 && (!to || end % unit === 0);
  const interval = isWhole(DAY) ? 'day' : isWhole(HOUR) ? 'hour' : null;
  const days = (end - start) / DAY;
  if (!interval || !(days > 0) || days > (interval === 'day' ? 399 : 31)) return null;
  const group_by = trunk_id ? 'trunk' : country ? 'country' : undefined;
  return { from, ...(to && { to }), interval, ...(group_by && { group_by }) };
}

/** The sums of a usage response; null if the group asked for is hidden in the rest. */
export function ofUsage(usage: Schema<'Usage'>, filters: CallFilters): Totals | null {
  const key = filters.trunk_id || filters.country || null;
  const series = usage.series.find((one) => one.key === key);
  if (!series && usage.other) return null;
  return ofPoints(series?.points ?? []);
}
