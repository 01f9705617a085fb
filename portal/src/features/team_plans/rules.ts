// The rules of a plan as text in forms and spreadsheets, and back.
import type { Schema } from '$api';
import { country, money, numbers } from '$format';
import { words } from './words';

type Sent = Schema<'RatePlan'>['rules'][number];

export type Kind = 'prefix' | 'destination_name' | 'country';
/** Empty text: the rule does not say it. Either `markup` or `rate` is given. */
export type Rule = { kind: Kind; value: string; markup: string; rate: string; fee: string; increment: string; minimum: string };

export const blank: Rule = { kind: 'prefix', value: '', markup: '', rate: '', fee: '', increment: '', minimum: '' };

/** No two rules of a plan apply to the same calls. */
export const keyOf = ({ kind, value }: Rule) => `${kind} ${value}`;
const isSame = (one: Rule, other: Rule) => JSON.stringify(one) === JSON.stringify(other);

export function ruleOf({ match, markup_pct, rate_per_minute, connect_fee, increment_seconds, minimum_seconds }: Sent): Rule {
  const kind = match.prefix ? 'prefix' : match.country ? 'country' : 'destination_name';
  return {
    kind,
    value: match[kind] ?? '',
    markup: String(markup_pct ?? ''),
    rate: rate_per_minute?.amount ?? '',
    fee: connect_fee?.amount ?? '',
    increment: String(increment_seconds ?? ''),
    minimum: String(minimum_seconds ?? ''),
  };
}

export function bodyOf({ kind, value, markup, rate, fee, increment, minimum }: Rule) {
  const euros = (amount: string) => (amount ? { amount, currency: 'EUR' } : null);
  const number = (text: string) => (text ? Number(text) : null);
  return {
    match: { prefix: null, destination_name: null, country: null, [kind]: value },
    markup_pct: number(markup),
    rate_per_minute: euros(rate),
    connect_fee: euros(fee),
    increment_seconds: number(increment),
    minimum_seconds: number(minimum),
  };
}

export const titleOf = ({ kind, value }: Rule) => (kind === 'prefix' ? `+${value}` : kind === 'country' ? country(value) : value);
export const euroText = (amount: string) => money({ amount, amount_minor: 0, currency: 'EUR' }, { exact: true });

/** A markup in percent with all its decimals and its sign. */
export const markupText = (percent: number | string) =>
  numbers({ style: 'percent', maximumFractionDigits: 4, signDisplay: 'exceptZero' }).format(Number(percent) / 100);

/** As people write numbers: a decimal comma, spaces, zeros in front. */
const tidyNumber = (text: string) => text.replace(/\s/g, '').replace(',', '.').replace(/^(-?)0+(?=\d)/, '$1');

export function tidy(rule: Rule): Rule {
  const value =
    rule.kind === 'prefix' ? rule.value.replace(/[\s-]/g, '').replace(/^(\+|00)/, '')
    : rule.kind === 'country' ? rule.value.trim().toUpperCase()
    : rule.value.trim();
  const [markup, rate, fee, increment, minimum] = [rule.markup, rule.rate, rule.fee, rule.increment, rule.minimum].map(tidyNumber) as [string, string, string, string, string];
  return { kind: rule.kind, value, markup, rate, fee, increment, minimum };
}

const VALUES = { prefix: /^[1-9]\d{0,14}$/, country: /^[A-Z]{2}$/, destination_name: /^.{1,200}$/ };
const AMOUNT = /^(0|[1-9]\d{0,8})(\.\d{1,9})?$/;
const isWithin = (text: string, least: number) => /^\d{1,4}$/.test(text) && Number(text) >= least && Number(text) <= 3600;
const isMarkup = (text: string) => /^-?\d+(\.\d{1,4})?$/.test(text) && Number(text) >= -100 && Number(text) <= 1000;

/** What is wrong with a tidy rule, by the name of its field. */
export function faultsOf({ kind, value, markup, rate, fee, increment, minimum }: Rule): { name: string; reason: string }[] {
  const said = words.rule.faults;
  const faults: [boolean, string, string][] = [
    [!VALUES[kind].test(value), 'value', said[kind]],
    [!markup && !rate, 'markup', said.price],
    [markup !== '' && !isMarkup(markup), 'markup', said.markup],
    [rate !== '' && !AMOUNT.test(rate), 'rate', said.rate],
    [fee !== '' && !AMOUNT.test(fee), 'fee', said.fee],
    [increment !== '' && !isWithin(increment, 1), 'increment', said.increment],
    [minimum !== '' && !isWithin(minimum, 0), 'minimum', said.minimum],
  ];
  return faults.filter(([isWrong]) => isWrong).map(([, name, reason]) => ({ name, reason }));
}

/** How many rules are new, changed and gone. */
export function differences(before: readonly Rule[], after: readonly Rule[]): { added: number; changed: number; removed: number } {
  const old = new Map(before.map((rule) => [keyOf(rule), rule]));
  const known = after.flatMap((rule) => old.get(keyOf(rule)) ?? []);
  const kept = after.filter((rule) => old.has(keyOf(rule)));
  return {
    added: after.length - kept.length,
    changed: kept.filter((rule, index) => !isSame(rule, known[index] ?? rule)).length,
    removed: before.length - kept.length,
  };
}

export function changeOf(rule: Rule, before: Rule | undefined): 'isNew' | 'isChanged' | undefined {
  return before === undefined ? 'isNew' : isSame(rule, before) ? undefined : 'isChanged';
}

/** Later rules replace those for the same calls, in their place. */
export const merged = (rules: readonly Rule[], more: readonly Rule[]): Rule[] => [
  ...new Map([...rules, ...more].map((rule) => [keyOf(rule), rule])).values(),
];

/** In the order in which they are looked up: prefixes, names, countries. */
export function sorted(rules: readonly Rule[]): Rule[] {
  const rank = { prefix: 0, destination_name: 1, country: 2 };
  const text = ({ kind, value }: Rule) => `${rank[kind]}${value}`;
  return [...rules].sort((one, other) => (text(one) < text(other) ? -1 : 1));
}

export const linesOf = (rules: readonly Rule[]): string =>
  rules
    .map(({ value, markup, rate, fee, increment, minimum }) => [value, markup ? `${markup}%` : rate, fee, increment, minimum].join('\t').trimEnd())
    .join('\n');

function ruleOfLine(line: string): Rule {
  const [value = '', price = '', fee = '', increment = '', minimum = ''] = line.split(/[;\t]/).map((cell) => cell.trim().replace(/^"(.*)"$/, '$1'));
  const kind = /^[+\d][\d\s-]*$/.test(value) ? 'prefix' : /^[A-Z]{2}$/.test(value) ? 'country' : 'destination_name';
  const isPercent = price.endsWith('%');
  return tidy({ kind, value, markup: isPercent ? price.slice(0, -1) : '', rate: isPercent ? '' : price, fee, increment, minimum });
}

/** The rules of lines that were copied from a spreadsheet. A first line without any digit after its first cell is a heading. */
export function parsed(text: string): { rules: Rule[]; faults: { line: number; reason: string }[] } {
  const rules = new Map<string, Rule>();
  const faults: { line: number; reason: string }[] = [];
  text.split(/\r?\n/).forEach((content, index) => {
    if (content.trim() === '' || (index === 0 && !/[;\t].*\d/.test(content) && /[;\t]/.test(content))) return;
    const rule = ruleOfLine(content);
    const reason = faultsOf(rule)[0]?.reason ?? (rules.has(keyOf(rule)) ? words.paste.twice : undefined);
    if (reason) faults.push({ line: index + 1, reason });
    else rules.set(keyOf(rule), rule);
  });
  return { rules: [...rules.values()], faults };
}
