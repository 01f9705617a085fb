// How a saved card is named.
import type { Schema } from '$api';
import { words } from './words';

type Method = Schema<'PaymentMethod'>;

/** "Visa •••• 4242". */
export function cardName(method: Method): string {
  return words.cards.name(words.cards.brands[method.brand], method.last4);
}

/** "04/2030". */
export function expiry(method: Method): string {
  return `${String(method.exp_month).padStart(2, '0')}/${method.exp_year}`;
}

export function isExpired(method: Method): boolean {
  const now = new Date();
  return method.exp_year * 12 + method.exp_month < now.getUTCFullYear() * 12 + now.getUTCMonth() + 1;
}
