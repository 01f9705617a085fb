// The way back from a checkout. The id of a top-up is known only after its return URL was sent, so the URL names the
// newest one and this tab remembers which one that is.

const REMEMBERED = 'topup';

/** The id in the path that stands for the top-up this tab started last. */
export const LATEST = 'latest';

export function returnUrl(next: string): string {
  const url = new URL(`/billing/topups/${LATEST}`, location.origin);
  if (next) url.searchParams.set('next', next);
  return url.href;
}

export function remember(id: string): void {
  sessionStorage.setItem(REMEMBERED, id);
}

export function remembered(): string | undefined {
  return sessionStorage.getItem(REMEMBERED) ?? undefined;
}

/** A path of this portal to go on to, or nothing: an address of another site is not followed. */
export function safePath(next: string): string | undefined {
  if (!next) return undefined;
  const url = URL.canParse(next, location.origin) ? new URL(next, location.origin) : undefined;
  return url && url.origin === location.origin && next.startsWith('/') ? url.pathname + url.search : undefined;
}
