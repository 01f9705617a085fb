// Common periods, and what they mean now.
export type Preset = 'all' | 'hour' | 'today' | 'day' | 'week' | 'month' | 'quarter' | 'this-month' | 'last-month';
const HOUR = 3_600_000;
const iso = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

/** What a preset means now. Days and months are whole, and those of the zone that times are shown in. */
export function presetRange(preset: Preset, utc: boolean, now = Date.now()): [from: string, to: string] {
  const date = new Date(now);
  const today = utc ? date.getUTCDate() : date.getDate();
  const start = (months: number, day: number) =>
    utc ? Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, day) : new Date(date.getFullYear(), date.getMonth() + months, day).getTime();
  switch (preset) {
    case 'all': return ['', ''];
    case 'hour': return [iso(now - HOUR), ''];
    case 'today': return [iso(start(0, today)), ''];
    case 'day': return [iso(now - 24 * HOUR), ''];
    case 'week': return [iso(start(0, today - 6)), ''];
    case 'month': return [iso(start(0, today - 29)), ''];
    case 'quarter': return [iso(start(0, today - 89)), ''];
    case 'this-month': return [iso(start(0, 1)), ''];
    case 'last-month': return [iso(start(-1, 1)), iso(start(0, 1))];
  }
}

/** The preset that means these times now. */
export function presetOf(from: string, to: string, presets: readonly Preset[], utc: boolean): Preset | undefined {
  const isSame = (a: string, b: string) => a === b || Math.abs(Date.parse(a) - Date.parse(b)) < 60_000;
  return presets.find((preset) => {
    const [start, end] = presetRange(preset, utc);
    return isSame(start, from) && isSame(end, to);
  });
}
