// Days and changes of exchange rates. Rates are decimal text; only comparisons are made with floats.

const DAY_MS = 24 * 60 * 60 * 1000;
/** A change from one day to the next beyond this is more often a typing error than a market. */
export const LARGE_CHANGE = 0.05;

export const dayBefore = (date: string) => new Date(Date.parse(`${date}T00:00:00Z`) - DAY_MS).toISOString().slice(0, 10);

export function change(now: string | undefined, before: string | undefined): number | undefined {
  const [a, b] = [Number(now), Number(before)];
  return now && before && Number.isFinite(a) && b > 0 ? a / b - 1 : undefined;
}

const withSign = new Intl.NumberFormat(undefined, {
  style: 'percent',
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
  signDisplay: 'exceptZero',
});
/** One decimal and a sign, so that a column of changes lines up and says which way. */
export const signed = (ratio: number): string => withSign.format(ratio);

export function inverse(rate: string): string {
  const value = Number(rate);
  return value > 0 ? (1 / value).toFixed(6) : '';
}

/** At least four decimals, so that a column of rates lines up. */
export function aligned(rate: string): string;
export function aligned(rate: string | undefined): string | undefined;
export function aligned(rate: string | undefined): string | undefined {
  if (rate === undefined) return undefined;
  const [whole, fraction = ''] = rate.split('.');
  return `${whole}.${fraction.padEnd(4, '0')}`;
}
