// How values look everywhere. Money comes from its exact decimal text, never from a float.
import type { Schema } from '../api/types';
import { dates, minorDigits, numbers } from './formatters';
import { zone } from './zone.svelte';

export { about, exact, nanos, padded, places, sum } from './exact';
export { numbers, ownZone } from './formatters';
export { zone } from './zone.svelte';
export type MoneyLike = Schema<'Money'> | Schema<'ExactMoney'>;
/** RFC 3339 text, Unix seconds or Unix milliseconds: the API has all three. */
export type Moment = string | number | null | undefined;

export const NONE = '–';

/** The amount as decimal text: exact where the API gives it, otherwise from the minor unit. */
export function decimal(m: MoneyLike, exact = false): string {
  if (exact && 'amount' in m && m.amount) return m.amount;
  const digits = minorDigits(m.currency);
  const text = String(Math.abs(m.amount_minor)).padStart(digits + 1, '0');
  const sign = m.amount_minor < 0 ? '-' : '';
  return sign + (digits ? `${text.slice(0, -digits)}.${text.slice(-digits)}` : text);
}

/** In cents unless it is `exact`; `short` is in cents too, but less than a cent has its first digit: `€0.004`. */
export function money(m: MoneyLike | null | undefined, { exact = false, short = false, sign = false } = {}): string {
  if (!m) return NONE;
  const text = decimal(m, exact || short);
  const places = short ? 2 : (text.split('.')[1]?.length ?? 0);
  const format = numbers({
    style: 'currency',
    currency: m.currency,
    currencyDisplay: 'narrowSymbol',
    minimumFractionDigits: Math.max(2, places),
    maximumFractionDigits: Math.max(2, places),
    ...(short && { maximumSignificantDigits: 1, roundingPriority: 'morePrecision' }),
    signDisplay: sign ? 'exceptZero' : 'auto',
  });
  return format.format(text as Intl.StringNumericLiteral);
}

export function count(n: number | null | undefined): string {
  return n === null || n === undefined ? NONE : numbers({}).format(n);
}

/** `1 call`, `1,234 calls`. */
export const plural = (n: number, one: string, more = `${one}s`) => `${count(n)} ${n === 1 ? one : more}`;

/** A ratio from 0 to 1. What rounds to zero has no sign. In a column all are `even`: with one decimal, whatever it is. */
export function percent(x: number | null | undefined, { sign = false, even = false } = {}): string {
  if (x === null || x === undefined) return NONE;
  return numbers({
    style: 'percent',
    minimumFractionDigits: even ? 1 : 0,
    maximumFractionDigits: 1,
    signDisplay: sign ? 'exceptZero' : 'negative',
  }).format(x);
}

export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return NONE;
  const two = (n: number) => String(Math.floor(n)).padStart(2, '0');
  const rest = `${two((seconds % 3600) / 60)}:${two(seconds % 60)}`;
  return seconds >= 3600 ? `${Math.floor(seconds / 3600)}:${rest}` : rest.replace(/^0/, '');
}

export function bytes(n: number | null | undefined): string {
  if (n === null || n === undefined) return NONE;
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const;
  const power = Math.min(units.length - 1, n > 0 ? Math.floor(Math.log10(n) / 3) : 0);
  return numbers({ style: 'unit', unit: units[power], unitDisplay: power ? 'short' : 'long', maximumFractionDigits: power ? 1 : 0 }).format(n / 1000 ** power);
}

const TWO_DIGIT_CODES = '20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82 84 86 90 91 92 93 94 95 98'.split(' ');

/** `+31 201 234 567`: the country code apart, the rest in groups that can be read aloud. */
export function phone(e164: string | null | undefined): string {
  if (!e164) return NONE;
  const digits = e164.replace(/^\+/, '');
  if (!/^\d{7,15}$/.test(digits)) return e164;
  const length = /^[17]/.test(digits) ? 1 : TWO_DIGIT_CODES.includes(digits.slice(0, 2)) ? 2 : 3;
  const rest = digits.slice(length);
  const groups: string[] = [];
  for (let end = rest.length; end > 0; end -= 3) groups.unshift(rest.slice(Math.max(0, end - 3), end));
  if (groups.length > 1 && (groups[0]?.length ?? 0) === 1) groups.splice(0, 2, `${groups[0]}${groups[1]}`);
  return `+${digits.slice(0, length)} ${groups.join(' ')}`;
}

const regions = new Intl.DisplayNames(undefined, { type: 'region', fallback: 'code' });

export function country(code: string | null | undefined): string {
  if (!code || code === 'ZZ') return NONE;
  return /^[A-Z]{2}$/.test(code) ? (regions.of(code) ?? code) : code;
}

export function toDate(at: Moment): Date | undefined {
  if (at === null || at === undefined || at === '') return undefined;
  const date = new Date(typeof at === 'number' && at < 1e11 ? at * 1000 : at);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** A date without a time, such as an invoice's. It belongs to no zone. */
export const isDate = (at: Moment): boolean => typeof at === 'string' && /^\d{4}-\d\d-\d\d$/.test(at);

/** The UTC day as a date. */
export const utcDay = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** The last so many UTC days as dates, the last one at the end. */
export const utcDays = (count: number, last: string): string[] =>
  Array.from({ length: count }, (_, index) => utcDay(Date.parse(last) - (count - 1 - index) * 86_400_000));

function inZone(at: Moment, options: Intl.DateTimeFormatOptions): string {
  const date = toDate(at);
  if (!date) return NONE;
  return dates({ ...options, timeZone: isDate(at) || zone.utc ? 'UTC' : undefined }).format(date);
}

const DAY: Intl.DateTimeFormatOptions = { day: 'numeric', month: 'short', year: 'numeric' };
const CLOCK: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' };

export const dateTime = (at: Moment) => inZone(at, { ...DAY, ...CLOCK, second: '2-digit' });
export const day = (at: Moment) => inZone(at, DAY);
/** A text of the service with the times in it (RFC 3339) as they are shown elsewhere. */
export const readable = (text: string) => text.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/g, (at) => (toDate(at) ? dateTime(at) : at));
export const time = (at: Moment) => inZone(at, { ...CLOCK, second: '2-digit' });
/** For the axes of charts, which have little room: `5 Nov`, or `Nov 2026` where years matter, and `14:00`. */
export const shortDay = (at: Moment, years = false) => inZone(at, years ? { month: 'short', year: 'numeric' } : { day: 'numeric', month: 'short' });
export const clock = (at: Moment) => inZone(at, CLOCK);

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [['year', 31_557_600], ['month', 2_629_800], ['day', 86_400], ['hour', 3600], ['minute', 60]];

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });

export function ago(at: Moment, now = Date.now()): string {
  const date = toDate(at);
  if (!date) return NONE;
  const seconds = (date.getTime() - now) / 1000;
  for (const [unit, length] of STEPS) if (Math.abs(seconds) >= length) return relative.format(Math.trunc(seconds / length), unit);
  return Math.abs(seconds) < 10 ? relative.format(0, 'second') : relative.format(Math.trunc(seconds), 'second');
}

/** How words of codes are written in a sentence. */
const SPELLINGS: Record<string, string> = { docs: 'documents', kyb: 'KYB', vat: 'VAT', api: 'API', did: 'DID', cdr: 'CDR', ip: 'IP', sip: 'SIP', asr: 'ASR', acd: 'ACD', cps: 'CPS', fx: 'FX', id: 'id' };

/** `docs_requested` → "Documents requested"; `kyb.approved` → "KYB approved". */
export function sentence(text: string | null | undefined): string {
  if (!text) return NONE;
  const words = text.split(/[_.\s]+/).filter(Boolean).map((word) => SPELLINGS[word] ?? word).join(' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** What a person types as an amount, in the minor unit: `12.50` → 1250. Undefined if it is not an amount in cents. */
export function toMinor(text: string): number | undefined {
  const found = /^(-?)(\d{1,12})(?:[.,](\d{1,2}))?$/.exec(text.trim().replace(/\s/g, ''));
  if (!found) return undefined;
  const minor = Number(found[2]) * 100 + Number((found[3] ?? '').padEnd(2, '0'));
  return found[1] ? -minor : minor;
}
