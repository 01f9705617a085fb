// From when a change of prices counts. An increase needs notice, unless that is waived with a reason.
import { ProblemError } from '$api';

/** `at` is empty for now. */
export type When = { at: string; waive: boolean; reason: string };

export const atOnce = (): When => ({ at: '', waive: false, reason: '' });

export const whenBody = ({ at, waive, reason }: When) => ({
  effective_at: at || null,
  waive_notice: waive,
  reason: waive ? reason.trim() : null,
});

/** The earliest moment that a refusal names, if it is about notice. */
export function earliestIn(error: unknown): string | undefined {
  const fault = error instanceof ProblemError && error.status === 422 ? error.params.find(({ name }) => name === 'effective_at') : undefined;
  return /\d{4}-\d\d-\d\dT[\d:.]+Z/.exec(fault?.reason ?? '')?.[0];
}
