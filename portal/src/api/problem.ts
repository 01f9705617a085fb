// An error of the API (RFC 7807), or of the way to it, as an exception.
import type { Schema } from './types';

export const AWAY = 'service.away';

type Raw = Partial<Schema<'Problem'>>;

export class ProblemError extends Error {
  readonly status: number;
  /** The part of `type` that programs branch on, such as `validation.failed`. */
  readonly code: string;
  readonly title: string;
  readonly detail?: string;
  readonly requestId: string;
  /** Seconds until a repetition can succeed. */
  readonly retryAfter?: number;
  readonly params: { name: string; reason: string }[];
  readonly problem: Raw;

  constructor(status: number, problem: Raw, requestId = '') {
    super(problem.detail ?? problem.title ?? `Status ${status}`);
    this.name = 'ProblemError';
    this.status = status;
    this.code = problem.type?.split(':problem:')[1] ?? (status === 0 ? AWAY : `http.${status}`);
    this.title = problem.title ?? (status === 0 ? 'The service does not answer' : `The request failed with status ${status}`);
    this.detail = problem.detail ?? undefined;
    this.requestId = problem.request_id ?? requestId;
    this.retryAfter = problem.retry_after ?? undefined;
    this.params = problem.invalid_params ?? [];
    this.problem = problem;
  }

  /** The service cannot be reached or is at capacity: the same request can succeed later. */
  get away(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 503 || this.status === 504;
  }
}

export async function problemOf(response: Response): Promise<ProblemError> {
  const body: Raw = await response.json().catch(() => ({}));
  const retry = Number(response.headers.get('Retry-After'));
  if (retry > 0) body.retry_after ??= retry;
  return new ProblemError(response.status, body, response.headers.get('X-Request-Id') ?? '');
}

export function asProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  return new ProblemError(0, { title: 'Something went wrong in this page', detail: error instanceof Error ? error.message : String(error), type: 'urn:portal:problem:page.failed' });
}
