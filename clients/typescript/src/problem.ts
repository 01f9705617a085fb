import type { components } from "./generated/openapi.js";

export type Problem = components["schemas"]["Problem"];

/** Anything that this package throws. */
export class TrunklineError extends Error {
  override name = "TrunklineError";
}

/** The service could not be reached, or did not answer in time. The cause has the details. */
export class ConnectionError extends TrunklineError {
  override name = "ConnectionError";
  readonly timedOut: boolean;

  constructor(message: string, timedOut: boolean, cause: unknown) {
    super(message, { cause });
    this.timedOut = timedOut;
  }
}

/** The service refused the request. Branch on `code`, which is stable; `detail` is for people. */
export class ProblemError extends TrunklineError {
  override name = "ProblemError";
  /** HTTP status of the response. */
  readonly status: number;
  /** Problem code such as `validation.failed`; `unknown` if something before the service answered. */
  readonly code: string;
  /** What is wrong with this request. */
  readonly detail: string | undefined;
  /** The fields that are not valid, with `validation.failed`. */
  readonly errors: readonly { name: string; reason: string }[];
  /** Id of the request; quote it when you contact support. */
  readonly requestId: string | undefined;
  /** Seconds to wait before the next try, if the service named them. */
  readonly retryAfter: number | undefined;
  /** The problem as it was sent, with the members that belong to its code. */
  readonly problem: Problem | undefined;

  constructor(response: Response, body: string) {
    const problem = parse(body);
    const code = problem?.type.split(/[:#/]/).pop() || "unknown";
    const detail = problem ? (problem.detail ?? problem.title) : body.slice(0, 200) || response.statusText;
    super(`${response.status} ${code}: ${detail}`);
    this.status = response.status;
    this.code = code;
    this.detail = problem?.detail ?? undefined;
    this.errors = problem?.invalid_params ?? [];
    this.requestId = problem?.request_id ?? response.headers.get("x-request-id") ?? undefined;
    this.retryAfter = problem?.retry_after ?? secondsOf(response.headers.get("retry-after"));
    this.problem = problem;
  }
}

function parse(body: string): Problem | undefined {
  try {
    const value: unknown = JSON.parse(body);
    const isProblem = typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
    return isProblem ? (value as unknown as Problem) : undefined;
  } catch {
    return undefined;
  }
}

/** Retry-After in seconds; it may be a date (RFC 9110). */
export function secondsOf(retryAfter: string | null, now = Date.now()): number | undefined {
  if (!retryAfter) return undefined;
  if (/^\d+$/.test(retryAfter.trim())) return Number(retryAfter);
  const date = Date.parse(retryAfter);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - now) / 1000);
}
