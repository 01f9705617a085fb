// Requests to the public API and the cache of what was read.
import { QueryClient } from '@tanstack/svelte-query';
import { ProblemError } from './problem';
import { isOpen, transport } from './transport';
import type { Method } from './types';

type Asked = { path?: object | undefined; query?: object | undefined; body?: unknown; headers?: Record<string, string>; signal?: AbortSignal };
export type Reply = { body: unknown; etag?: string; response: Response };

/** Empty filters are not sent: the service refuses an empty value. */
export function cleanQuery(query: object | undefined): Record<string, unknown> | undefined {
  if (!query) return undefined;
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== '' && value !== null && value !== undefined));
}

export function address(path: string, inPath: object | undefined, query: object | undefined): string {
  const filled = Object.entries(inPath ?? {}).reduce((text, [name, value]) => text.replace(`{${name}}`, encodeURIComponent(String(value))), path);
  const search = new URLSearchParams(Object.entries(cleanQuery(query) ?? {}).map(([name, value]) => [name, String(value)])).toString();
  return `/v1${filled}${search ? `?${search}` : ''}`;
}

/** Any request below /v1. Throws a ProblemError; screens use `read`, `list` and `send`, which know the types. */
export async function ask(method: Method, path: string, { path: inPath, query, body, headers, signal }: Asked = {}): Promise<Reply> {
  const given = { ...headers, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) };
  const url = address(path, inPath, query);
  const response = await transport(
    (token) =>
      fetch(url, {
        method: method.toUpperCase(),
        headers: token ? { ...given, Authorization: `Bearer ${token}` } : given,
        body: body === undefined ? undefined : JSON.stringify(body),
        cache: 'no-store',
        signal,
      }),
    { repeat: headers?.['Idempotency-Key'] !== undefined, open: isOpen(url.split('?')[0] ?? url) },
  );
  const text = await response.text();
  return { body: text ? JSON.parse(text) : undefined, etag: response.headers.get('ETag') ?? undefined, response };
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
