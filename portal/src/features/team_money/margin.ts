// Order, names and addresses of the rows of a margin report.
import type { Schema } from '$api';
import { zone } from '$format';
import { presetRange } from '$kit';
import { words } from './words';

export type Row = Schema<'Margin'>;
export type Group = Schema<'MarginGroup'>;
export type Sort = keyof typeof words.margin.sorts;

/** One decimal always, so that a column of shares lines up. */
const oneDecimal = new Intl.NumberFormat(undefined, { style: 'percent', minimumFractionDigits: 1, maximumFractionDigits: 1 });
export const share = (row: Row) => (row.margin_pct === null ? words.margin.unknown : oneDecimal.format(row.margin_pct / 100));

/** A plain number for order and charts; never shown as an amount. */
const about = (money: Schema<'ExactMoney'>) => Number(money.amount);

const orders: Record<Sort, (a: Row, b: Row) => number> = {
  margin: (a, b) => about(b.margin) - about(a.margin),
  loss: (a, b) => about(a.margin) - about(b.margin),
  charge: (a, b) => about(b.charge) - about(a.charge),
  minutes: (a, b) => b.minutes - a.minutes,
  name: (a, b) => (a.name ?? '').localeCompare(b.name ?? ''),
};

export function sorted(rows: Row[], by: Group, sort: string): Row[] {
  const order = by === 'day' ? (a: Row, b: Row) => (b.key ?? '').localeCompare(a.key ?? '') : (orders[sort as Sort] ?? orders.margin);
  return [...rows].sort(order);
}

export function hrefOf(row: Row, by: Group): string | undefined {
  if (!row.key) return undefined;
  return by === 'customer' ? `/team/customers/${row.key}` : by === 'upstream' ? `/team/upstreams/${row.key}` : undefined;
}

export const top = (rows: Row[], by: Group, amount: (row: Row) => string) =>
  [...rows]
    .sort(orders.margin)
    .slice(0, 10)
    .map((row) => ({ label: row.name ?? words.margin.none[by], value: Math.max(0, about(row.margin)), text: amount(row), href: hrefOf(row, by) }));

export const series = (rows: Row[]) => ({
  times: rows.map((row) => row.key ?? ''),
  series: [
    { label: words.margin.columns.charge, values: rows.map((row) => about(row.charge)) },
    { label: words.margin.columns.cost, values: rows.map((row) => about(row.cost)) },
    { label: words.margin.columns.margin, values: rows.map((row) => about(row.margin)) },
  ],
});

/** The last thirty days, as the service does by itself, but visible in the filter. */
export const defaultFrom = () => presetRange('month', zone.utc)[0];
