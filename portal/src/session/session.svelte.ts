// Who is signed in, in this tab. The access token lives in memory; the refresh token in a cookie that scripts cannot
// read. All tabs share one refresh: a spent refresh token that is used twice would end the session.
import { ProblemError, problemOf } from '../api/problem';
import type { Schema } from '../api/types';
import { navigate } from '../router/router.svelte';
import { lastInput } from './idle';

/** The user, with `account` beside it; `user` is the same user, as in `GET /me`. */
export type Signed = Schema<'MeUser'> & Schema<'MeResponse'>;
export type Tokens = Schema<'SessionResponse'>;
type Told = { kind: 'token'; token: string; expiresAt: number; user: string } | { kind: 'signed-out' };
type Question = { resolve: (yes: boolean) => void; answer: Promise<boolean> };

const TABS = 'trunkline.session';
const LOCK = 'trunkline.refresh';
const IDLE_MS = 30 * 60_000;
const REFRESH_AHEAD_S = 60;
/** Set while this browser should have a session, so that a visitor without one is not refused first. */
const KNOWN = 'trunkline.signed-in';

const channel = new BroadcastChannel(TABS);
const nowSeconds = () => Date.now() / 1000;

function question(): Question {
  let resolve: (yes: boolean) => void = () => {};
  const answer = new Promise<boolean>((done) => (resolve = done));
  return { resolve, answer };
}

async function post(path: string, token?: string, body?: unknown): Promise<Response> {
  const headers: Record<string, string> = {};
  if (token) headers['Authorization'] = `Bearer ${token}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  return fetch(`/v1${path}`, { method: 'POST', headers, body: body === undefined ? undefined : JSON.stringify(body), cache: 'no-store' }).catch(() => {
    throw new ProblemError(0, {});
  });
}

class Session {
  user = $state.raw<Signed>();
  /** `starting` until it is known whether the cookie still holds a session. */
  state = $state<'starting' | 'in' | 'out'>('starting');
  /** The session has ended while screens are open: they stay, under a dialog. */
  ended = $state.raw<Question>();
  /** A change waits for a password, code or passkey. */
  proof = $state.raw<Question>();
  secondFactorRequired = $state(false);
  impersonating = $state.raw<{ expiresAt: number } | undefined>();

  token: string | undefined;
  private expiresAt = 0;
  private userId = '';
  private renewing: Promise<void> | undefined;
  private listeners = new Set<() => void>();

  constructor() {
    channel.onmessage = ({ data }: MessageEvent<Told>) => void this.hear(data);
  }

  get team(): boolean {
    return this.user?.roles.some((role) => role !== 'customer') ?? false;
  }

  get home(): string {
    return this.team ? '/team' : '/';
  }

  /** Nobody has touched this tab for half an hour. */
  get idle(): boolean {
    return Date.now() - lastInput() > IDLE_MS;
  }

  /** Called when the person behind the tab changes, so that nothing of the one before stays in memory. */
  onchange(listener: () => void): void {
    this.listeners.add(listener);
  }

  /** At the start of the page: an impersonation token in the address, or the session in the cookie. */
  async start(): Promise<void> {
    const fragment = new URLSearchParams(location.hash.slice(1));
    if (location.pathname === '/impersonate' && fragment.get('token')) {
      this.token = fragment.get('token') ?? undefined;
      this.impersonating = { expiresAt: Date.parse(fragment.get('expires') ?? '') || Date.now() + 15 * 60_000 };
      navigate('/', { replace: true });
    } else if (!localStorage.getItem(KNOWN) || !(await this.refreshOnce(undefined))) {
      this.state = 'out';
      localStorage.removeItem(KNOWN);
      return;
    }
    await this.loadUser();
  }

  /** Who the token belongs to. Also after a change to the user or its account, since the frame shows both. */
  async loadUser(renewed = false): Promise<void> {
    const response = await fetch('/v1/me', { headers: { Authorization: `Bearer ${this.token}` }, cache: 'no-store' }).catch(() => {
      throw new ProblemError(0, {});
    });
    if (!response.ok) {
      const problem = await problemOf(response);
      if (problem.code === 'auth.second_factor_required') this.secondFactorRequired = true;
      if (this.secondFactorRequired) return;
      if (response.status !== 401) throw problem;
      if (!renewed && !this.impersonating && (await this.refreshOnce(this.token))) return this.loadUser(true);
      if (!this.user) this.state = 'out';
      return;
    }
    const me = (await response.json()) as Schema<'MeResponse'>;
    this.user = { ...me.user, ...me };
    this.state = 'in';
  }

  /** Takes the tokens of a sign-in. The refresh token goes into the cookie at once. */
  async signedIn(tokens: Pick<Tokens, 'access_token' | 'refresh_token' | 'expires_at'> & { user?: { id: string } }): Promise<void> {
    const before = this.user?.id;
    await navigator.locks.request(LOCK, async () => {
      const response = await post('/auth/cookie', undefined, { refresh_token: tokens.refresh_token });
      if (!response.ok) throw await problemOf(response);
      this.adopt(tokens.access_token, tokens.expires_at);
    });
    await this.loadUser();
    this.userId = this.user?.id ?? tokens.user?.id ?? '';
    this.tell();
    if (before && before !== this.user?.id) return location.assign('/');
    this.ended?.resolve(true);
    this.ended = undefined;
  }

  async signOut(): Promise<void> {
    const response = await fetch('/v1/auth/cookie', { method: 'DELETE' }).catch(() => undefined);
    if (!response || response.status >= 500) throw new ProblemError(0, { title: 'You are not signed out', detail: 'The service does not answer. Try again in a moment.' });
    channel.postMessage({ kind: 'signed-out' } satisfies Told);
    this.forget();
  }

  forget(): void {
    localStorage.removeItem(KNOWN);
    this.token = undefined;
    this.user = undefined;
    this.state = 'out';
    this.ended?.resolve(false);
    this.ended = undefined;
    this.secondFactorRequired = false;
    for (const listener of this.listeners) listener();
  }

  /** A token that lasts a little longer, or `undefined` when nobody is there to need it. */
  async freshToken(): Promise<string | undefined> {
    if (this.impersonating || this.expiresAt - nowSeconds() > REFRESH_AHEAD_S) return this.token;
    if (this.idle || this.ended) return undefined;
    return (await this.refreshOnce(this.token)) ? this.token : undefined;
  }

  /** Returns when there is another token than `refused`: refreshed here or in another tab, or after a new sign-in. */
  renew(refused: string): Promise<void> {
    if (this.token && this.token !== refused && !this.ended) return Promise.resolve();
    this.renewing ??= this.renewed(refused).finally(() => (this.renewing = undefined));
    return this.renewing;
  }

  private async renewed(refused: string): Promise<void> {
    if (!this.impersonating && !this.ended && (await this.refreshOnce(refused))) return;
    this.ended ??= question();
    if (!(await this.ended.answer)) throw new ProblemError(401, { title: 'You are signed out' });
  }

  private async refreshOnce(refused: string | undefined): Promise<boolean> {
    const before = this.token;
    const asked = performance.now();
    return navigator.locks.request(LOCK, async () => {
      // Another tab may have refreshed while this one waited for its turn; its message can be a moment behind the lock.
      if (performance.now() - asked > 5 && this.token === before) await new Promise((resolve) => setTimeout(resolve, 30));
      if (this.token && this.token !== refused && this.token !== before) return true;
      const response = await post('/auth/cookie/refresh');
      if (response.status >= 400 && response.status < 500 && response.status !== 429) return false;
      if (!response.ok) throw await problemOf(response);
      const { access_token, expires_at, user } = (await response.json()) as Schema<'CookieSessionResponse'>;
      this.adopt(access_token, expires_at);
      this.userId = user.id;
      this.tell();
      return true;
    });
  }

  private adopt(token: string, expiresAt: number): void {
    this.token = token;
    this.expiresAt = expiresAt;
    localStorage.setItem(KNOWN, '1');
  }

  private tell(): void {
    if (this.token && this.userId) channel.postMessage({ kind: 'token', token: this.token, expiresAt: this.expiresAt, user: this.userId } satisfies Told);
  }

  private async hear(told: Told): Promise<void> {
    if (this.impersonating) return;
    if (told.kind === 'signed-out') return this.state === 'in' ? this.forget() : undefined;
    if (this.user && this.user.id !== told.user) return location.assign('/');
    this.adopt(told.token, told.expiresAt);
    this.userId = told.user;
    if (!this.user) return this.state === 'out' ? this.loadUser() : undefined;
    this.ended?.resolve(true);
    this.ended = undefined;
  }

  /** Asks for a password, code or passkey. False when the person cancels. */
  proveIdentity(): Promise<boolean> {
    this.proof ??= question();
    return this.proof.answer;
  }

  identityProven(proven: boolean): void {
    this.proof?.resolve(proven);
    this.proof = undefined;
  }

  requireSecondFactor(): void {
    this.secondFactorRequired = true;
  }
}

export const session = new Session();
