// When a call is tried again, and after how long.

import { ConnectionError, ProblemError } from "./problem.js";

/** Statuses of a service, or a proxy before it, that will soon work again. */
const TRANSIENT = [429, 502, 503, 504];
/** Those that say that the request was not carried out. */
const NOT_CARRIED_OUT = [429, 503];

export const FIRST_DELAY_MS = 500;
const LONGEST_BACKOFF_MS = 8_000;
/** A service that asks for more patience than this is not waited for. */
const LONGEST_WAIT_MS = 60_000;
/** Between two connections of a stream. */
const LONGEST_PAUSE_MS = 30_000;

/**
 * Milliseconds to wait before the next try, or undefined if there should be none. Without an idempotency key only what
 * surely did not happen is tried again.
 */
export function retryDelay(failure: unknown, tries: number, repeatable: boolean, random = Math.random): number | undefined {
  if (!mayRepeat(failure, repeatable)) return undefined;
  const asked = failure instanceof ProblemError ? (failure.retryAfter ?? 0) * 1000 : 0;
  if (asked > LONGEST_WAIT_MS) return undefined;
  const backoff = Math.min(FIRST_DELAY_MS * 2 ** tries, LONGEST_BACKOFF_MS) * (0.5 + random() / 2);
  return Math.max(asked, backoff);
}

/**
 * Milliseconds to wait before a stream is followed on, or undefined if the service refuses it. `tries` counts the
 * connections since the last one that brought anything, `first` is the pause that the service asked for.
 */
export function reconnectDelay(failure: unknown, tries: number, first: number, random = Math.random): number | undefined {
  if (failure !== undefined && !mayRepeat(failure, true)) return undefined;
  const asked = failure instanceof ProblemError ? (failure.retryAfter ?? 0) * 1000 : 0;
  const backoff = Math.min(first * 2 ** Math.min(tries, 10), LONGEST_PAUSE_MS) * (0.5 + random() / 2);
  return Math.max(Math.min(asked, LONGEST_WAIT_MS), backoff);
}

function mayRepeat(failure: unknown, repeatable: boolean): boolean {
  if (failure instanceof ConnectionError) return repeatable;
  if (!(failure instanceof ProblemError)) return false;
  if (failure.code === "idempotency.in_progress") return true;
  return (repeatable ? TRANSIENT : NOT_CARRIED_OUT).includes(failure.status);
}

/** Waits, unless the signal ends it. */
export function wait(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", end, { once: true });
  });
}
