import { money } from '$format';

/** An amount of a chart; the exact one is in the ledger. */
export const euros = (value: number): string => money({ amount_minor: Math.round(value * 100), currency: 'EUR' });
