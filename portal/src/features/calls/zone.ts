// Time zones of days.
import { zone } from '$format';

/** Days of series are summed from whole UTC hours; a zone with other clocks is shown in UTC days. */
export function dayZone(): string {
  const year = new Date().getFullYear();
  const offsets = [0, 6].map((month) => new Date(year, month, 1).getTimezoneOffset());
  return offsets.every((offset) => offset % 60 === 0) ? zone.name : 'UTC';
}
