// Data of the service for screens: reads that stay current, lists by cursor, changes, files.
import { createInfiniteQuery, createQuery } from '@tanstack/svelte-query';
import { SvelteMap } from 'svelte/reactivity';
import { session } from '../session/session.svelte';
import { address, ask, queries, type Reply } from './client';
import { asProblem, type ProblemError } from './problem';
import type { ListPath, Options, PathWith, Result, Row, SendOptions } from './types';

export { ProblemError, asProblem } from './problem';
export { download, openLink, upload } from './files';
export { ask } from './client';
export type { ListPath, Options, PathWith, Result, Row, Schema } from './types';

export type Read<T> = {
  readonly data: T | undefined;
  readonly error: ProblemError | undefined;
  readonly pending: boolean;
  readonly fetching: boolean;
  readonly etag: string | undefined;
  refetch(): Promise<void>;
};

export type List<R> = {
  readonly rows: R[];
  readonly error: ProblemError | undefined;
  readonly pending: boolean;
  readonly fetching: boolean;
  readonly more: boolean;
  readonly loadingMore: boolean;
  loadMore(): void;
  refetch(): Promise<void>;
};

type Asked = { path?: object | undefined; query?: object | undefined };
const keyOf = (path: string, asked: Asked | null) => [path, asked?.path ?? {}, asked?.query ?? {}];

/** What was shown before stays while a filter changes, but never the data of another resource, nor rows of something else. */
function previous<T>(asked: Asked | null) {
  const resource = (inPath: unknown, query: unknown) => JSON.stringify([inPath ?? {}, (query as { by?: string } | undefined)?.by]);
  const wanted = resource(asked?.path, asked?.query);
  return (data: T | undefined, query: { queryKey: readonly unknown[] } | undefined) =>
    query && resource(query.queryKey[1], query.queryKey[2]) === wanted ? data : undefined;
}

/** Polling stops while nobody is at the screen, so that an idle session can end. */
const every = (poll: number | undefined) => () => (poll && !session.idle ? poll : false);

/** The error of the last answer. It stays while the same is asked for again: a form that is shown in its place must not vanish. */
function lastError(query: { error: unknown; isPending: boolean }, key: () => unknown): () => ProblemError | undefined {
  let last: { key: string; error: ProblemError } | undefined;
  return () => {
    const asked = JSON.stringify(key());
    if (query.error) last = { key: asked, error: asProblem(query.error) };
    else if (!query.isPending || last?.key !== asked) last = undefined;
    return last?.error;
  };
}

/**
 * Looks at these properties once. A query reports changes only of what was looked at, so what a screen looks at later would be as
 * it was at first: loading, for ever. Not of all, since every report runs the effects that read any of them.
 */
function watch<Q extends object>(query: Q, ...names: (keyof Q)[]): void {
  for (const name of names) void query[name];
}

/** What was deleted, or is about to be, and when: a screen that was open then does not read it again on its way out. */
const deleted = new SvelteMap<string, number>();
const isWithin = (url: string, whole: string) => url === whole || url.startsWith(`${whole}/`);

function isDeleted(path: string, asked: Asked, opened: number): boolean {
  const url = address(path, asked.path, undefined);
  return [...deleted].some(([whole, at]) => at >= opened && isWithin(url, whole));
}

/** Deletes one thing. Reads of it that are under way are cancelled, or they would be told that it is not there. */
async function remove(path: string, asked: Asked & { headers: Record<string, string> }): Promise<Reply> {
  const url = address(path, asked.path, undefined);
  deleted.set(url, performance.now());
  try {
    await queries.cancelQueries({ predicate: ({ queryKey: [of, inPath] }) => isWithin(address(of as string, inPath as object, undefined), url) });
    return await ask('delete', path, asked);
  } catch (thrown) {
    deleted.delete(url);
    throw thrown;
  }
}

/**
 * One resource, current as long as the screen is shown. `null` while its parameters are not known yet. With `fresh` nothing is
 * shown that was read before: a form takes what it begins with only once.
 */
export function read<P extends PathWith<'get'>>(
  path: P,
  options: () => Options<P, 'get'> | null = () => ({}) as Options<P, 'get'>,
  settings: { poll?: number; fresh?: boolean } = {},
): Read<Result<P, 'get'>> {
  const opened = performance.now();
  const begun = { asked: '', at: 0 };
  const query = createQuery(
    () => {
      const asked = options() as Asked | null;
      const text = JSON.stringify(asked);
      if (text !== begun.asked) [begun.asked, begun.at] = [text, Date.now()];
      return {
        ...(settings.fresh ? { staleTime: 0, refetchOnMount: 'always' as const } : {}),
        queryKey: keyOf(path, asked),
        enabled: asked !== null && !isDeleted(path, asked, opened),
        queryFn: async ({ signal }: { signal: AbortSignal }) => {
          const { body, etag } = await ask('get', path, { ...asked, signal });
          return { body: body as Result<P, 'get'>, etag };
        },
        placeholderData: previous<{ body: Result<P, 'get'>; etag: string | undefined }>(asked),
        refetchInterval: every(settings.poll),
      };
    },
    () => queries,
  );
  watch(query, 'data', 'error', 'isPending', 'dataUpdatedAt', 'errorUpdatedAt');
  const error = lastError(query, options);
  const isOld = (at: number) => settings.fresh === true && at < begun.at;
  return {
    get data() { return isOld(query.dataUpdatedAt) ? undefined : query.data?.body; },
    get error() { return isOld(query.errorUpdatedAt) ? undefined : error(); },
    get pending() { return query.isPending; },
    get fetching() { return query.isFetching; },
    get etag() { return isOld(query.dataUpdatedAt) ? undefined : query.data?.etag; },
    refetch: async () => void (await query.refetch()),
  };
}

type Page = { data?: unknown[]; items?: unknown[]; rows?: unknown[]; meta?: { next_cursor?: string | null }; next_cursor?: string | null };

/** A list by cursor, whatever its envelope is called. */
export function list<P extends ListPath>(
  path: P,
  options: () => Options<P, 'get'> | null = () => ({}) as Options<P, 'get'>,
  settings: { limit?: number; poll?: number } = {},
): List<Row<P>> {
  const opened = performance.now();
  const query = createInfiniteQuery(
    () => {
      const asked = options() as Asked | null;
      return {
        queryKey: [...keyOf(path, asked), 'list', settings.limit ?? 50],
        enabled: asked !== null && !isDeleted(path, asked, opened),
        queryFn: async ({ pageParam, signal }: { pageParam: string | undefined; signal: AbortSignal }) => {
          const query = { limit: settings.limit ?? 50, ...asked?.query, cursor: pageParam };
          return (await ask('get', path, { path: asked?.path, query, signal })).body as Page;
        },
        initialPageParam: undefined as string | undefined,
        getNextPageParam: (page: Page) => page.meta?.next_cursor ?? page.next_cursor ?? undefined,
        placeholderData: previous<{ pages: Page[]; pageParams: (string | undefined)[] }>(asked),
        refetchInterval: every(settings.poll),
      };
    },
    () => queries,
  );
  watch(query, 'data', 'error', 'isPending', 'hasNextPage', 'isFetchingNextPage');
  const rows = joinedRows(() => query.data?.pages);
  const error = lastError(query, options);
  return {
    get rows() { return rows() as Row<P>[]; },
    get error() { return error(); },
    get pending() { return query.isPending; },
    get fetching() { return query.isFetching; },
    get more() { return query.hasNextPage; },
    get loadingMore() { return query.isFetchingNextPage; },
    loadMore: () => void query.fetchNextPage(),
    refetch: async () => void (await query.refetch()),
  };
}

/** Joins the pages once for each answer, not once for each look at the rows. */
function joinedRows(pages: () => Page[] | undefined): () => unknown[] {
  let known: Page[] | undefined;
  let rows: unknown[] = [];
  return () => {
    const now = pages();
    if (now !== known) {
      known = now;
      rows = (now ?? []).flatMap((page) => page.data ?? page.items ?? page.rows ?? []);
    }
    return rows;
  };
}

/** A change. `key` becomes the Idempotency-Key, `etag` the If-Match. */
export async function send<M extends 'post' | 'put' | 'patch' | 'delete', P extends PathWith<M>>(
  method: M,
  path: P,
  options: SendOptions<P, M> = {} as SendOptions<P, M>,
): Promise<Result<P, M>> {
  const { key, etag, ...asked } = options as Asked & { body?: unknown; key?: string; etag?: string };
  const headers: Record<string, string> = {};
  if (key) headers['Idempotency-Key'] = key;
  if (etag) headers['If-Match'] = etag;
  const isOne = method === 'delete' && path.endsWith('}');
  const reply = await (isOne ? remove(path, { ...asked, headers }) : ask(method, path, { ...asked, headers }));
  return reply.body as Result<P, M>;
}

/** Reads below these paths are fetched again: at once if they are shown, otherwise when they are next. */
export function stale(...prefixes: string[]): void {
  if (prefixes.some((prefix) => prefix === '/me' || prefix === '/account')) void session.loadUser().catch(() => {});
  void queries.invalidateQueries({
    predicate: ({ queryKey: [path] }) => typeof path === 'string' && prefixes.some((prefix) => path === prefix || path.startsWith(`${prefix}/`)),
  });
}
