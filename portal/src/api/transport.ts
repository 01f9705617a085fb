// One request to the service: the access token, its renewal, sign-in and proof of identity when they are asked for, and
// repetition when the service is away. A repeated request is the same one, with the same Idempotency-Key.
import { away } from '../session/away.svelte';
import { session } from '../session/session.svelte';
import { ProblemError, problemOf } from './problem';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const REPEATS_MS = [600, 1500, 3500];

type Attempt = (token: string | undefined) => Promise<Response>;

async function attempted(attempt: Attempt): Promise<Response> {
  const token = session.token;
  let response: Response;
  try {
    response = await attempt(token);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    away.noteFailure();
    throw new ProblemError(0, { title: 'The service does not answer', detail: 'Nothing is lost. Try again in a moment.' });
  }
  if (response.status === 401 && token !== undefined) {
    // Waits for a new token; where the session has ended, for the person to sign in again.
    await session.renew(token);
    return attempted(attempt);
  }
  if (response.ok || response.status === 304) {
    away.noteAnswer();
    return response;
  }
  const problem = await problemOf(response);
  if (problem.code === 'auth.reauthentication_required' && (await session.proveIdentity())) return attempted(attempt);
  if (problem.code === 'auth.second_factor_required') session.requireSecondFactor();
  if (problem.away && problem.code !== 'upstream.unavailable') away.noteFailure();
  else away.noteAnswer();
  throw problem;
}

/** `repeat`: a lost response may be asked for again, since the request has an Idempotency-Key. */
export async function transport(attempt: Attempt, repeat: boolean): Promise<Response> {
  for (let failures = 0; ; failures++) {
    try {
      return await attempted(attempt);
    } catch (error) {
      const wait = REPEATS_MS[failures];
      if (!repeat || wait === undefined || !(error instanceof ProblemError) || !error.away || error.code === 'upstream.unavailable') throw error;
      await pause(wait);
    }
  }
}
