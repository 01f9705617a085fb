// Routing policies are one document: a default and exceptions. Here each of them is a row that changes by itself.
import { ProblemError, send, type Read, type Schema } from '$api';
import { numberOf } from './mapping';
import { words as all } from './words';

type Policies = Schema<'RoutingPolicies'>;
type Rules = Schema<'RoutingRules'>;
/** That of all other calls has neither a prefix nor a name. */
export type Policy = Schema<'DestinationPolicy'>;
export type PolicyDraft = {
  kind: 'prefix' | 'destination_name' | '';
  value: string;
  order: Rules['routing_policy'] | '';
  asr: string;
  acd: string;
  pdd: string;
  attempts: string;
};

const words = all.policies;
export const keyOf = ({ prefix, destination_name }: Policy) => `${prefix ?? ''} ${destination_name ?? ''}`;
export const isDefault = (policy: Policy | undefined) => policy !== undefined && keyOf(policy) === ' ';
export const titleOf = ({ prefix, destination_name }: Policy) => (prefix ? `+${prefix}` : (destination_name ?? words.others));
export const policiesOf = ({ default: rules, destinations }: Policies): Policy[] => [{ prefix: null, destination_name: null, rules }, ...destinations];
/** The policy for the same calls. */
export const storedFor = (policy: Policy | undefined, of: Policies) => policy && policiesOf(of).find((one) => keyOf(one) === keyOf(policy));

/** Below what a route is tried last, in words. */
export function floorOf({ min_asr_pct, min_acd_seconds, max_pdd_ms, min_attempts }: Rules): string {
  const limits = [
    min_asr_pct !== null && words.floorAsr(min_asr_pct),
    min_acd_seconds !== null && words.floorAcd(min_acd_seconds),
    max_pdd_ms !== null && words.floorPdd(max_pdd_ms),
  ].filter((text) => text !== false);
  return limits.length > 0 ? [...limits, words.floorFrom(min_attempts)].join(', ') : words.noFloor;
}

export function draftOf(policy: Policy | undefined): PolicyDraft {
  const rules = policy?.rules;
  return {
    kind: policy?.destination_name ? 'destination_name' : 'prefix',
    value: policy?.prefix ?? policy?.destination_name ?? '',
    order: rules?.routing_policy ?? 'cheapest',
    asr: String(rules?.min_asr_pct ?? ''),
    acd: String(rules?.min_acd_seconds ?? ''),
    pdd: String(rules?.max_pdd_ms ?? ''),
    attempts: String(rules?.min_attempts ?? ''),
  };
}

/** Every field with its label, for people who compare two versions. */
export const linesOf = ({ kind, value, order, asr, acd, pdd, attempts }: PolicyDraft): [label: string, text: string][] => [
  [kind === 'prefix' ? words.prefix : words.destination, value],
  [words.columns.order, order && words.orders[order]],
  [words.asr, asr],
  [words.acd, acd],
  [words.pdd, pdd],
  [words.attempts, attempts],
];

const rulesOf = ({ order, asr, acd, pdd, attempts }: PolicyDraft) => ({
  routing_policy: order || ('cheapest' as const),
  min_asr_pct: numberOf(asr),
  min_acd_seconds: numberOf(acd),
  max_pdd_ms: numberOf(pdd),
  min_attempts: numberOf(attempts),
});

function bodyOf(of: Policies, before: Policy | undefined, draft: PolicyDraft | undefined) {
  const others = of.destinations.filter((one) => !before || keyOf(one) !== keyOf(before));
  if (!draft) return { ...of, destinations: others };
  const rules = rulesOf(draft);
  if (isDefault(before)) return { ...of, default: rules };
  const [prefix, destination_name] = draft.kind === 'prefix' ? [draft.value, null] : [null, draft.value];
  return { ...of, destinations: [...others, { prefix, destination_name, rules }] };
}

const isStale = (error: unknown) => error instanceof ProblemError && error.status === 412;

/** Adds, replaces or removes one policy. What others changed in the rest of the document meanwhile stays. */
export async function change(of: Read<Policies>, before: Policy | undefined, draft: PolicyDraft | undefined) {
  for (let isLast = false; ; isLast = true) {
    if (!of.data || (before && JSON.stringify(storedFor(before, of.data)) !== JSON.stringify(before))) {
      throw new ProblemError(412, { title: all.conflict.title });
    }
    try {
      return await send('put', '/admin/routing-policies', { body: bodyOf(of.data, before, draft), etag: of.etag });
    } catch (error) {
      if (isLast || !isStale(error)) throw named(error);
    }
    await of.refetch();
  }
}

/** `destinations.3.rules.min_asr_pct` is the field `min_asr_pct` of the form. */
function named(error: unknown): unknown {
  if (!(error instanceof ProblemError)) return error;
  const invalid_params = error.params.map(({ name, reason }) => ({ name: name.replace(/^.*\./, ''), reason }));
  return new ProblemError(error.status, { ...error.problem, invalid_params }, error.requestId);
}
