// The filters of the call lists: what is in the address is what is asked for, exported and shown.
import { country, sentence } from '$format';
import type { Schema } from '$api';
import { words } from './words';

export const empty = {
  from: '',
  to: '',
  status: '',
  leg: '',
  trunk_id: '',
  country: '',
  calling: '',
  called: '',
  call_id: '',
};

export type CallFilters = typeof empty;

export const STATUSES: Schema<'CallStatus'>[] = ['answered', 'no_answer', 'busy', 'failed', 'cancelled'];
export const LEGS: Schema<'Leg'>[] = ['termination', 'origination'];

export const statusOptions = STATUSES.map((value) => ({ value, label: sentence(value) }));
export const legOptions = LEGS.map((value) => ({ value, label: words.legs[value] }));

/** Only the filters that are set, so that an empty field asks for everything. */
export function given<T extends Record<string, string>>(filters: T): Partial<T> {
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value.trim() !== '')) as Partial<T>;
}

/** The same as the query of an address, with the question mark; empty without filters. */
export function search(filters: Record<string, string>): string {
  const query = new URLSearchParams(given(filters) as Record<string, string>).toString();
  return query ? `?${query}` : '';
}

/** Digits that the service accepts as the beginning of a number. */
export const isDigits = (text: string): boolean => /^[ -]*(\+|0[ -]*0)?[ -]*[1-9]([ -]*[0-9]){0,14}[ -]*$/.test(text);

export const digitsFault = (text: string): string | undefined => (isDigits(text) ? undefined : words.numberHint);

/** Filters that would be refused are not sent; the field says why. */
export function sendable<T extends { calling: string; called: string }>(filters: T): boolean {
  return [filters.calling, filters.called].every((text) => text.trim() === '' || isDigits(text));
}

/** Each set filter in words, for the export dialog and the list of exports. */
export function described(
  filters: Record<string, unknown>,
  names: { trunk?: (id: string) => string; account?: (id: string) => string; upstream?: (id: string) => string } = {},
): { label: string; value: string }[] {
  const labels: Record<string, string> = words.filters;
  return Object.entries(filters)
    .filter(([key, value]) => key in labels && value !== null && value !== undefined && value !== '')
    .map(([key, value]) => {
      const text = String(value);
      const shown =
        key === 'status' ? sentence(text)
        : key === 'leg' ? (words.legs[text as Schema<'Leg'>] ?? text)
        : key === 'country' ? country(text)
        : key === 'trunk_id' ? (names.trunk?.(text) ?? text)
        : key === 'account_id' ? (names.account?.(text) ?? text)
        : key === 'upstream_id' ? (names.upstream?.(text) ?? text)
        : key === 'called' || key === 'calling' ? `+${text.replace(/^\+/, '')}`
        : text;
      return { label: labels[key] ?? key, value: shown };
    });
}
