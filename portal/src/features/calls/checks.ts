// The checks of a call in the order of the service; the first refusal ends them.
import type { Schema } from '$api';
import { words } from './words';

type Reason = keyof typeof words.checks;
interface Check {
  reason: Reason;
  name: string;
  state: 'passed' | 'refused' | 'not_reached';
  refused?: string;
  next?: string;
  href?: string;
  label?: string;
}

const ORDER = Object.keys(words.checks) as Reason[];

export function checks(call: Schema<'SimulatedCall'>, trunk: string): Check[] {
  const failed = call.reason === null ? ORDER.length : ORDER.indexOf(call.reason as Reason);
  return ORDER.map((reason, index) => {
    const { name, refused, next, ...link }: (typeof words.checks)[Reason] & { href?: string; label?: string } = words.checks[reason];
    // A reason that is not in the list says nothing about the others.
    const state = failed < 0 ? 'not_reached' : index < failed ? 'passed' : index === failed ? 'refused' : 'not_reached';
    if (state !== 'refused') return { reason, name, state };
    const href = link.href === '/trunks/' ? `/trunks/${trunk}` : link.href;
    return { reason, name, state, refused, next, href, label: link.label };
  });
}
