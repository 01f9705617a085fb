// Common periods, and what they mean now.
export type Preset = 'all' | 'hour' | 'today' | 'day' | 'week' | 'month' | 'this-month' | 'last-month';
const HOUR = 3_600_000;
const iso = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

/** What a preset means now. Days and months are those of the zone that times are shown in. */
export function presetRange(preset: Preset, utc: boolean, now = Date.now()): [from: string, to: string] {
  const date = new Date(now);
  const start = (months: number, day: number) =>
    utc ? Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, day) : new Date(date.getFullYear(), date.getMonth() + months, day).getTime();
  switch (preset) {
    case 'all': return ['', ''];
    case 'hour': return [iso(now - HOUR), ''];
    case 'today': return [iso(start(0, utc ? date.getUTCDate() : date.getDate())), ''];
    case 'day': return [iso(now - 24 * HOUR), ''];
    case 'week': return [iso(now - 7 * 24 * HOUR), ''];
    case 'month': return [iso(now - 30 * 24 * HOUR), ''];
    case 'this-month': return [iso(start(0, 1)), ''];
    case 'last-month': return [iso(start(-1, 1)), iso(start(0, 1))];
  }
}
