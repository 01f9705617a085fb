// Arithmetic and addresses that several tabs of a customer share.
import type { Schema } from '$api';
import { words } from './words';

type Amount = { amount_minor: number; currency: string };

/** The tabs of a customer's page. */
export function tabItems(id: string): { href: string; label: string }[] {
  return Object.entries(words.tabs).map(([tail, label]) => ({
    href: `/team/customers/${id}${tail === 'overview' ? '' : `/${tail}`}`,
    label,
  }));
}

/** An amount in EUR as a request takes it; the service refuses text that is not a number and names the field. */
export function euros(text: string): Schema<'MoneyInput'> {
  return { amount: text.trim().replace(',', '.'), currency: 'EUR' };
}

export function plus(money: Amount, minor: number): Amount {
  return { amount_minor: money.amount_minor + minor, currency: money.currency };
}

/** The plain UUID of an id with a prefix, such as `kyb_0192…`. */
export function plainId(id: string): string {
  const digits = id.replace(/^[a-z]+_/, '').replaceAll('-', '');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
