// Time zones of days and files.

/** The reader's time zone by its IANA name. */
export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';

/** Days of series are summed from whole UTC hours; a zone with other clocks is shown in UTC days. */
export function dayZone(): string {
  const year = new Date().getFullYear();
  const offsets = [0, 6].map((month) => new Date(year, month, 1).getTimezoneOffset());
  return offsets.every((offset) => offset % 60 === 0) ? ownZone() : 'UTC';
}
