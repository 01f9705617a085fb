// One request to the service: the access token, its renewal, sign-in and proof of identity when they are asked for, and
// repetition when the service is away. A repeated request is the same one, with the same Idempotency-Key.
import { away } from '../session/away.svelte';
import { session } from '../session/session.svelte';
import { ProblemError, problemOf } from './problem';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const REPEATS_MS = [600, 1500, 3500];

type Attempt = (token: string | undefined) => Promise<Response>;

/** These take no access token; a 401 of theirs is about what was typed, not about the session. */
const OPEN = /^\/v1\/(auth\/(?!reauthenticate|sign-out)|admin\/2fa\/verify$|admin\/bootstrap$|beta\/signup$|signup$|portal$)/;
export const isOpen = (pathname: string) => OPEN.test(pathname);

const AWAY = { title: 'The service does not answer', detail: 'Nothing is lost. Try again in a moment.' };
const SESSION_OVER = ['auth.token_expired', 'auth.token_invalid'];

async function attempted(attempt: Attempt, open: boolean, renewals = 0): Promise<Response> {
  const token = open ? undefined : session.token;
  let response: Response;
  try {
    response = await attempt(token);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    away.noteFailure();
    throw new ProblemError(0, AWAY);
  }
  if (response.ok || response.status === 304) {
    away.noteAnswer();
    return response;
  }
  const problem = await problemOf(response);
  if (token !== undefined && problem.status === 401 && SESSION_OVER.includes(problem.code) && renewals < 3) {
    // Waits for a new token; where the session has ended, for the person to sign in again.
    await session.renew(token);
    return attempted(attempt, open, renewals + 1);
  }
  if (problem.code === 'auth.reauthentication_required' && renewals < 3 && (await session.proveIdentity())) return attempted(attempt, open, renewals + 1);
  if (problem.code === 'auth.second_factor_required') session.requireSecondFactor();
  if (problem.away && problem.code !== 'upstream.unavailable') away.noteFailure();
  else away.noteAnswer();
  throw problem;
}

/** `repeat`: a lost response may be asked for again, since the request has an Idempotency-Key. */
export async function transport(attempt: Attempt, { repeat, open = false }: { repeat: boolean; open?: boolean }): Promise<Response> {
  for (let failures = 0; ; failures++) {
    try {
      return await attempted(attempt, open);
    } catch (error) {
      const wait = REPEATS_MS[failures];
      if (!repeat || wait === undefined || !(error instanceof ProblemError) || !error.away || error.code === 'upstream.unavailable') throw error;
      await pause(wait);
    }
  }
}
