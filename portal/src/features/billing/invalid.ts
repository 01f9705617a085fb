import { ProblemError } from '$api';

/** A fault found before the service is asked; the form puts it at the field of that name. */
export function invalid(name: string, reason: string): ProblemError {
  return new ProblemError(422, { title: 'Check the form', invalid_params: [{ name, reason }] });
}
