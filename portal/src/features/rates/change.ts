// A change of a rate as a share, for reading only.
import type { Schema } from '$api';
import { percent } from '$format';

type Entry = Schema<'RateDiffEntry'>;

export function share(entry: Entry): string | undefined {
  const [before, after] = [Number(entry.from?.amount ?? 0), Number(entry.to?.amount ?? 0)];
  if (!entry.from || !entry.to || before === 0 || before === after) return undefined;
  const value = (after - before) / before;
  // What rounds to nothing is a change all the same.
  return Math.abs(value) < 0.0005 ? `<${percent(0.001)}` : percent(value, { sign: true });
}

export const isFeeOnly = (entry: Entry): boolean => entry.from !== null && entry.from?.amount === entry.to?.amount;

export function hasFee(entry: Entry): boolean {
  return [entry.from_connect_fee, entry.to_connect_fee].some((fee) => fee !== null && fee.amount_minor !== 0) || isFeeOnly(entry);
}

export function countOf(entries: Entry[], change: Schema<'RateChange'>): number {
  return entries.filter((entry) => entry.change === change).length;
}
