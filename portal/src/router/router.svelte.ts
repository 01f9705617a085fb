// From the address to a screen. Filters live in the address too, so that what somebody sees can be sent to somebody else.
import type { Component } from 'svelte';

export type Who = 'anyone' | 'customer' | 'team';
export type Route = {
  path: string;
  title: string;
  who: Who;
  // Screens take their path parameters as props; which ones is between the row and the screen.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  load: () => Promise<{ default: Component<any> }>;
};
export type Match = { route: Route; params: Record<string, string> };

type Row = { route: Route; segments: string[] };
let table: Row[] = [];

const here = () => ({ path: location.pathname, query: new URLSearchParams(location.search) });
let at = $state.raw(here());
let moves = $state(0);

const isName = (segment: string) => segment.startsWith('{');

/** Literal segments come before parameters, whatever the order of the rows: `/numbers/order` before `/numbers/{id}`. */
export function useRoutes(routes: Route[]): void {
  table = routes.map((route) => ({ route, segments: route.path.split('/') }));
  const rank = ({ segments }: Row) => segments.map((segment) => (isName(segment) ? '1' : '0')).join('');
  table.sort((a, b) => rank(a).localeCompare(rank(b)));
}

export function match(path: string): Match | undefined {
  const parts = path.replace(/(.)\/$/, '$1').split('/');
  for (const { route, segments } of table) {
    if (segments.length !== parts.length) continue;
    const params: Record<string, string> = {};
    const fits = segments.every((segment, index) => {
      const part = parts[index] ?? '';
      if (!isName(segment)) return segment === part;
      params[segment.slice(1, -1)] = decodeURIComponent(part);
      return part !== '';
    });
    if (fits) return { route, params };
  }
  return undefined;
}

export const current = {
  get path(): string { return at.path; },
  get query(): URLSearchParams { return at.query; },
  /** How many times the address has moved since the page was loaded. */
  get moves(): number { return moves; },
};

export function navigate(href: string, { replace = false }: { replace?: boolean } = {}): void {
  const target = new URL(href, location.href);
  if (target.origin !== location.origin) return location.assign(href);
  history[replace ? 'replaceState' : 'pushState'](null, '', target.pathname + target.search + target.hash);
  const moved = at.path !== target.pathname;
  at = here();
  moves += 1;
  if (moved && !target.hash) scrollTo(0, 0);
}

/** Filters bound to the query of the address. A value equal to its default is left out of it. */
export function params<T extends Record<string, string>>(defaults: T): { [K in keyof T]: string } {
  const bound = {} as { [K in keyof T]: string };
  for (const [name, standard] of Object.entries(defaults)) {
    Object.defineProperty(bound, name, {
      enumerable: true,
      get: () => at.query.get(name) ?? standard,
      set: (value: string | undefined) => {
        const query = new URLSearchParams(location.search);
        if ((value ?? '') === standard) query.delete(name);
        else query.set(name, value ?? '');
        if (query.toString() === new URLSearchParams(location.search).toString()) return;
        history.replaceState(history.state, '', `${location.pathname}${query.size ? `?${query}` : ''}${location.hash}`);
        at = here();
      },
    });
  }
  return bound;
}

/** Whether filters differ from their defaults. */
export function isChanged(filters: Record<string, string>, defaults: Record<string, string>): boolean {
  return Object.entries(defaults).some(([name, standard]) => filters[name] !== standard);
}

/** Sets filters to their defaults; undefined while they are, for there is nothing to reset. */
export function resetOf(filters: Record<string, string>, defaults: Record<string, string>): (() => void) | undefined {
  return isChanged(filters, defaults) ? () => void Object.assign(filters, defaults) : undefined;
}

function linkOf(event: Event): HTMLAnchorElement | undefined {
  const link = (event.target as Element | null)?.closest?.('a');
  if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return undefined;
  return link;
}

/** Plain links work; the code of a screen is fetched when the pointer rests on a link to it. */
export function start(): void {
  addEventListener('popstate', () => {
    at = here();
    moves += 1;
  });
  document.addEventListener('click', (event) => {
    const link = linkOf(event);
    if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    if (!match(link.pathname) || (link.hash && link.pathname === location.pathname)) return;
    event.preventDefault();
    navigate(link.href);
  });
  const prefetch = (event: Event) => {
    const link = linkOf(event);
    if (link) void match(link.pathname)?.route.load().catch(() => {});
  };
  document.addEventListener('pointerover', prefetch, { passive: true });
  document.addEventListener('focusin', prefetch, { passive: true });
}
