// The token of a mailed link comes after the `#`, which browsers do not send. It leaves the address bar at once, so that it
// stays out of the history and of screenshots.
export function tokenFromLink(): string | undefined {
  const token = new URLSearchParams(location.hash.slice(1)).get('token') ?? undefined;
  if (token) history.replaceState(history.state, '', location.pathname + location.search);
  return token;
}

/** Where to go after signing in: an address of the portal, never of another site. */
export function safeNext(next: string | null, home: string): string {
  return next && /^\/(?![/\\])/.test(next) && !next.startsWith('/sign-in') ? next : home;
}
