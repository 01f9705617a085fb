// Arithmetic with exact amounts: in nanos (10⁻⁹ of the currency), the precision of the service.
import type { Schema } from '../api/types';
import { minorDigits } from './formatters';

type ExactMoney = Schema<'ExactMoney'>;

const PLACES = 9;
const NANOS = 10n ** BigInt(PLACES);

export function nanos(amount: string): bigint {
  const [whole = '0', fraction = ''] = amount.replace('-', '').split('.');
  const value = BigInt(whole) * NANOS + BigInt(fraction.slice(0, PLACES).padEnd(PLACES, '0'));
  return amount.startsWith('-') ? -value : value;
}

/** The amount with its minor units rounded half away from zero, as the service does. */
export function exact(value: bigint, currency: string): ExactMoney {
  const size = value < 0n ? -value : value;
  const sign = value < 0n ? '-' : '';
  const fraction = (size % NANOS).toString().padStart(PLACES, '0').replace(/0+$/, '');
  const digits = minorDigits(currency);
  const unit = 10n ** BigInt(PLACES - digits);
  const minor = Number((size + unit / 2n) / unit);
  return {
    amount: `${sign}${size / NANOS}${fraction ? `.${fraction}` : ''}`,
    amount_minor: value < 0n ? -minor : minor,
    currency,
  };
}

export function sum(amounts: ExactMoney[]): ExactMoney {
  const total = amounts.reduce((all, one) => all + nanos(one.amount), 0n);
  return exact(total, amounts[0]?.currency ?? 'EUR');
}

/** A plain number for charts and percentages; never shown as an amount. */
export const about = (money: ExactMoney): number => Number(money.amount);

/** Decimal places of the longest of these amounts, two at least. */
export function places(amounts: (ExactMoney | null | undefined)[]): number {
  return Math.max(2, ...amounts.map((money) => money?.amount.split('.')[1]?.length ?? 0));
}

/** The same amount with as many decimal places, so that a column of amounts is aligned. Nothing has no more than its cents. */
export function padded(money: ExactMoney, length: number): ExactMoney {
  if (nanos(money.amount) === 0n) return money;
  const [whole = '0', fraction = ''] = money.amount.split('.');
  return { ...money, amount: `${whole}.${fraction.padEnd(length, '0')}` };
}
