// The range and the kind of points of a series screen, in the address, with a way back from each zoom.
import { zone } from '$format';
import { presetRange } from '$kit';
import { isChanged, params } from '$router';
import type { Schema } from '$api';
import { dayZone } from '../calls/zone';
import type { Measure } from './series';

const DAY = 86_400_000;
const AUTO_HOUR_DAYS = 3;
const MAX_HOUR_DAYS = 32;

/** `groups` are those to choose from now; the first but one stands for any other. */
export function seriesRange(defaults: { by: string; show: Measure }, groups: () => string[]) {
  const standards = { from: '', to: '', interval: '', by: defaults.by, show: defaults.show as string };
  const query = params(standards);
  let earlier = $state<{ from: string; to: string; interval: string }[]>([]);

  // Without a start in the address the last 30 days are shown, and the field says so.
  const standard = presetRange('month', zone.utc)[0];
  const from = $derived(query.from || standard);
  const by = $derived(groups().includes(query.by) ? query.by : (groups()[1] ?? ''));
  const days = $derived(((query.to ? Date.parse(query.to) : Date.now()) - Date.parse(from)) / DAY);
  const interval = $derived<Schema<'Interval'>>(
    days > MAX_HOUR_DAYS ? 'day'
    : query.interval === 'hour' || query.interval === 'day' ? query.interval
    : days <= AUTO_HOUR_DAYS ? 'hour'
    : 'day',
  );

  return {
    get from() { return from; },
    set from(value: string) { query.from = value; earlier = []; },
    get to() { return query.to; },
    set to(value: string) { query.to = value; earlier = []; },
    get by() { return by; },
    set by(value: string) { query.by = value; },
    get show(): Measure { return query.show as Measure; },
    set show(value: string) { query.show = value; },
    get chosenInterval() { return query.interval; },
    set chosenInterval(value: string) { query.interval = value; },
    get interval() { return interval; },
    get isHourRefused() { return query.interval === 'hour' && days > MAX_HOUR_DAYS; },
    get isChanged() { return isChanged(query, standards); },
    get isZoomed() { return earlier.length > 0; },
    /** What is asked for; days are those of the reader's zone. */
    get query() {
      return { from, to: query.to, interval, group_by: by, time_zone: interval === 'day' ? dayZone() : '' };
    },
    get isUtc() { return interval === 'day' ? dayZone() === 'UTC' : zone.utc; },
    reset() {
      Object.assign(query, standards);
      earlier = [];
    },
    zoom(start: string, end: string) {
      earlier = [...earlier, { from: query.from, to: query.to, interval: query.interval }];
      Object.assign(query, { from: wholeHour(Math.floor, start), to: wholeHour(Math.ceil, end), interval: '' });
    },
    zoomOut() {
      const last = earlier.at(-1);
      if (!last) return;
      earlier = earlier.slice(0, -1);
      Object.assign(query, last);
    },
  };
}

export type SeriesRange = ReturnType<typeof seriesRange>;

const HOUR = 3_600_000;
const wholeHour = (round: (n: number) => number, at: string) => new Date(round(Date.parse(at) / HOUR) * HOUR).toISOString();
