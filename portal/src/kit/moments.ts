// Between ISO times and what the date controls of browsers speak: a wall clock without a zone.
import { zone } from '$format';

const two = (n: number) => String(n).padStart(2, '0');

/** ISO time → `2026-01-31T12:00` on the clock that times are shown in. */
export function toWall(iso: string): string {
  const date = new Date(iso);
  if (!iso || Number.isNaN(date.getTime())) return '';
  if (zone.utc) return date.toISOString().slice(0, 16);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}T${two(date.getHours())}:${two(date.getMinutes())}`;
}

export function fromWall(wall: string): string {
  if (!wall) return '';
  const date = new Date(zone.utc ? `${wall}Z` : wall);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().replace('.000Z', 'Z');
}
