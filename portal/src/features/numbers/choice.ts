import type { Schema } from '$api';
import { current } from '$router';

/** What is being ordered, as it stands in the address. */
export interface Choice {
  country: string;
  group: string;
  quantity: string;
  trunk: string;
}

export const MAX_QUANTITY = 20;

/** The quantity, or undefined if the text is none. */
export function quantityOf(choice: Choice): number | undefined {
  const quantity = /^\d{1,3}$/.test(choice.quantity.trim()) ? Number(choice.quantity) : 0;
  return quantity >= 1 && quantity <= MAX_QUANTITY ? quantity : undefined;
}

export function times(money: Schema<'Money'>, factor: number): Schema<'Money'> {
  return { ...money, amount_minor: money.amount_minor * factor };
}

export function sum(a: Schema<'Money'>, b: Schema<'Money'>): Schema<'Money'> {
  return { ...a, amount_minor: a.amount_minor + b.amount_minor };
}

const STEP_MINOR = 500;

/** What to top up for a shortfall, in whole steps of five: nobody pays in 3.17. */
export function topupFor(shortfall: Schema<'Money'>): Schema<'Money'> {
  return { ...shortfall, amount_minor: Math.ceil(shortfall.amount_minor / STEP_MINOR) * STEP_MINOR };
}

/** The screen that tops up and returns to the present choice. */
export function topupAddress(topup: Schema<'Money'>): string {
  const query = new URLSearchParams({
    new: '1',
    amount: (topup.amount_minor / 100).toFixed(2),
    next: `${current.path}${location.search}`,
  });
  return `/billing/topups?${query}`;
}
