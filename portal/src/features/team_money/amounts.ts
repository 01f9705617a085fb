// Sums of minor units, and amounts as requests take them.
import { money } from '$format';
import type { Schema } from '$api';

type Money = Schema<'Money'>;

export const plus = (one: Money, minor: number): Money => ({ amount_minor: one.amount_minor + minor, currency: one.currency });
export const minus = (one: Money, other: Money): Money => plus(one, -other.amount_minor);
export const euros = (minor: number): Money => ({ amount_minor: minor, currency: 'EUR' });
export const text = (minor: number, currency = 'EUR') => money({ amount_minor: minor, currency });

/** Minor units as a person would type them. */
export const typed = (minor: number) => (minor / 100).toFixed(2);
