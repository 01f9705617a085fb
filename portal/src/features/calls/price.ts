// The price of a call, step by step: the same arithmetic as the service, so that each step can be checked.
import type { Schema } from '$api';
import { exact, nanos } from '$format';

export interface Terms {
  rate_per_minute: Schema<'ExactMoney'>;
  connect_fee: Schema<'ExactMoney'>;
  minimum_seconds: number;
  billing_increment_seconds: number;
}

/** Seconds that an answered call is billed for: at least the minimum, rounded up to whole increments. */
export function billedSeconds(terms: Terms, answered: number): number {
  const increment = Math.max(terms.billing_increment_seconds, 1);
  return Math.ceil(Math.max(answered, terms.minimum_seconds) / increment) * increment;
}

/** The price of some billed seconds without the connect fee, rounded half up to 10⁻⁹. */
export function priceOfSeconds(terms: Terms, billed: number): Schema<'ExactMoney'> {
  const product = nanos(terms.rate_per_minute.amount) * BigInt(billed);
  return exact((product + 30n) / 60n, terms.rate_per_minute.currency);
}

/** The price of an answered call. */
export function priceOfCall(terms: Terms, answered: number): Schema<'ExactMoney'> {
  const minutes = priceOfSeconds(terms, billedSeconds(terms, answered));
  return exact(nanos(minutes.amount) + nanos(terms.connect_fee.amount), minutes.currency);
}
