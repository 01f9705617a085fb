// Why an upstream takes calls to a number or not, in a sentence.
import type { Schema } from '$api';
import { words } from './words';

type Routes = Schema<'AdminRoutes'>;
type Candidate = Schema<'RouteCandidate'>;

export function verdict(routes: Routes, candidate: Candidate): string {
  if (candidate.reason !== 'over_price') return words.routes.reasons[candidate.reason];
  if (above(candidate.cost, routes.price)) return words.routes.overRate;
  if (above(candidate.connect_fee, routes.connect_fee)) return words.routes.overConnect;
  const steps = (one: { billing_increment_seconds: number | null; minimum_seconds: number | null }) =>
    [one.billing_increment_seconds ?? 0, one.minimum_seconds ?? 0] as const;
  const [theirs, ours] = [steps(candidate), steps(routes)];
  return theirs[0] > ours[0] || theirs[1] > ours[1] ? words.routes.overBilling : words.routes.reasons.over_price;
}

/** Share of the price that is left, 0 to 1; for reading only, so a float will do. */
export function marginShare(routes: Routes, candidate: Candidate): number | undefined {
  const price = Number(routes.price?.amount ?? 0);
  return candidate.margin && price > 0 ? Number(candidate.margin.amount) / price : undefined;
}

function above(one: Schema<'ExactMoney'> | null, other: Schema<'ExactMoney'> | null): boolean {
  return one !== null && other !== null && Number(one.amount) > Number(other.amount);
}
