// The typed client of the public API and the cache of what was read.
import { QueryClient } from '@tanstack/svelte-query';
import createClient from 'openapi-fetch';
import { ProblemError } from './problem';
import type { paths } from './schema';
import { isOpen, transport } from './transport';
import type { Method } from './types';

function overTransport(request: Request): Promise<Response> {
  const repeat = request.headers.has('Idempotency-Key');
  return transport((token) => {
    const copy = request.clone();
    if (token) copy.headers.set('Authorization', `Bearer ${token}`);
    return fetch(copy);
  }, { repeat, open: isOpen(new URL(request.url).pathname) });
}

const client = createClient<paths>({ baseUrl: '/v1', fetch: overTransport, cache: 'no-store' });

type Asked = { path?: object | undefined; query?: object | undefined; body?: unknown; headers?: Record<string, string>; signal?: AbortSignal };
export type Reply = { body: unknown; etag?: string; response: Response };

/** Empty filters are not sent: the service refuses an empty value. */
export function cleanQuery(query: object | undefined): Record<string, unknown> | undefined {
  if (!query) return undefined;
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== '' && value !== null && value !== undefined));
}

/** Any request below /v1. Throws a ProblemError; screens use `read`, `list` and `send`, which know the types. */
export async function ask(method: Method, path: string, { path: inPath, query, body, headers, signal }: Asked = {}): Promise<Reply> {
  const request = client.request as unknown as (method: string, path: string, init: object) => Promise<{ data?: unknown; response: Response }>;
  const { data, response } = await request(method, path, { params: { path: inPath, query: cleanQuery(query) }, body, headers, signal });
  return { body: data, etag: response.headers.get('ETag') ?? undefined, response };
}

const retryDelay = (failures: number) => Math.min(1000 * 2 ** failures, 15_000);

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      networkMode: 'always',
      // A read waits for the service to come back; every other refusal is shown at once.
      retry: (failures, error) => error instanceof ProblemError && error.away && failures < 1000,
      retryDelay,
      refetchOnWindowFocus: true,
    },
  },
});
