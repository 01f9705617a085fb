// The terms of a plan as text in a form, and back.
import type { Schema } from '$api';

type Plan = Schema<'RatePlan'>;
export type Terms = { name: string; base: Plan['base'] | ''; markup: string; below: boolean; notice: string };

export const blankTerms: Terms = { name: '', base: 'list', markup: '', below: false, notice: '7' };

export const termsOf = (plan: Plan): Terms => ({
  name: plan.name,
  base: plan.base,
  markup: String(plan.markup_pct),
  below: plan.allow_below_cost,
  notice: String(plan.notice_days),
});

/** Text that is not a number goes as none: the service refuses it and names the field. */
export const termsBody = (terms: Terms) => ({
  name: terms.name.trim(),
  base: terms.base || ('list' as const),
  markup_pct: Number(terms.markup.trim().replace(',', '.') || NaN),
  allow_below_cost: terms.below,
  notice_days: Number(terms.notice.trim() || NaN),
});

/** Only what differs, so that other fields keep what others wrote. */
export function termsChanges(terms: Terms, before: Plan): Partial<ReturnType<typeof termsBody>> {
  const after = termsBody(terms);
  return Object.fromEntries(Object.entries(after).filter(([name, value]) => value !== before[name as keyof typeof after]));
}
