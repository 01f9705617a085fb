import { Following, LONGEST_SILENCE_MS } from "./events.js";
import { UNKEYED } from "./generated/operations.js";
import { ConnectionError, ProblemError } from "./problem.js";
import { retryDelay, wait } from "./retry.js";
import type {
  Arguments,
  CallOptions,
  Item,
  Method,
  Operation,
  Options,
  PagedPath,
  PathOf,
  Result,
  Streamed,
  StreamOptions,
  StreamPath,
} from "./types.js";

export interface ClientOptions {
  /** Base URL of the API with its version, such as `https://voice.example.com/v1`. */
  baseUrl: string;
  /** API key (`tl_live_…`) or access token, or a function that returns the current one. */
  token?: string | (() => string | Promise<string>);
  /** Milliseconds for each try of a call; 30,000 unless told. */
  timeoutMs?: number;
  /** How often a call is tried again; 3 unless told. */
  maxRetries?: number;
  /** Another implementation of fetch. */
  fetch?: typeof fetch;
}

/** The options of any operation, after the types have done their work. */
interface AnyOptions extends CallOptions {
  path?: Record<string, string | number>;
  query?: Record<string, unknown>;
  body?: unknown;
}

interface Page {
  data?: unknown[];
  items?: unknown[];
  rows?: unknown[];
  meta?: { next_cursor?: string | null };
  next_cursor?: string | null;
}

/** Client of the Trunkline API. Each method takes a path of the API reference and is typed by it. */
export class Trunkline {
  readonly baseUrl: string;
  readonly #token: ClientOptions["token"];
  readonly #timeoutMs: number;
  readonly #maxRetries: number;
  readonly #fetch: typeof fetch;

  constructor(options: ClientOptions) {
    this.baseUrl = options.baseUrl.replace(/\/+$/, "");
    this.#token = options.token;
    this.#timeoutMs = options.timeoutMs ?? 30_000;
    this.#maxRetries = options.maxRetries ?? 3;
    this.#fetch = options.fetch ?? ((...request) => fetch(...request));
  }

  async get<P extends PathOf<"get">>(path: P, ...given: Arguments<Operation<P, "get">>): Promise<Result<Operation<P, "get">>> {
    return (await this.#call("get", path, given[0])).data as Result<Operation<P, "get">>;
  }

  async post<P extends PathOf<"post">>(path: P, ...given: Arguments<Operation<P, "post">>): Promise<Result<Operation<P, "post">>> {
    return (await this.#call("post", path, given[0])).data as Result<Operation<P, "post">>;
  }

  async put<P extends PathOf<"put">>(path: P, ...given: Arguments<Operation<P, "put">>): Promise<Result<Operation<P, "put">>> {
    return (await this.#call("put", path, given[0])).data as Result<Operation<P, "put">>;
  }

  async patch<P extends PathOf<"patch">>(path: P, ...given: Arguments<Operation<P, "patch">>): Promise<Result<Operation<P, "patch">>> {
    return (await this.#call("patch", path, given[0])).data as Result<Operation<P, "patch">>;
  }

  async delete<P extends PathOf<"delete">>(path: P, ...given: Arguments<Operation<P, "delete">>): Promise<Result<Operation<P, "delete">>> {
    return (await this.#call("delete", path, given[0])).data as Result<Operation<P, "delete">>;
  }

  /** Calls an operation and returns its response, for its status and headers such as `ETag`, beside the data. */
  async request<M extends Method, P extends PathOf<M>>(
    method: M,
    path: P,
    ...given: Arguments<Operation<P, M>>
  ): Promise<{ data: Result<Operation<P, M>>; response: Response }> {
    const { data, response } = await this.#call(method, path, (given as unknown[])[0]);
    return { data: data as Result<Operation<P, M>>, response };
  }

  /** Iterates over a whole list, page by page. `query.limit` is the size of a page. */
  async *paginate<P extends PagedPath>(path: P, options?: Options<Operation<P, "get">>): AsyncGenerator<Item<P>, void, undefined> {
    const given = (options ?? {}) as AnyOptions;
    let cursor = given.query?.["cursor"] as string | null | undefined;
    for (;;) {
      const { data } = await this.#call("get", path, { ...given, query: { ...given.query, cursor } });
      const page = data as Page;
      yield* (page.data ?? page.items ?? page.rows ?? []) as Item<P>[];
      const next = page.meta ? page.meta.next_cursor : page.next_cursor;
      // A list that is polled, such as that of events, repeats its cursor at the end.
      if (!next || next === cursor) return;
      cursor = next;
    }
  }

  /**
   * Follows a stream of events, which has no end: `/events/stream`, or `/admin/events/stream` for the team. It connects
   * again after a break and goes on after the last event, so that none is missed.
   */
  async *stream<P extends StreamPath>(path: P, options: StreamOptions = {}): AsyncGenerator<Streamed<P>, void, undefined> {
    const following = new Following(options.lastEventId, this.#maxRetries);
    for (;;) {
      let failure: unknown;
      try {
        for await (const data of this.#follow(path, following, options.signal)) yield JSON.parse(data) as Streamed<P>;
      } catch (caught) {
        options.signal?.throwIfAborted();
        failure = caught;
      }
      await wait(following.pause(failure), options.signal);
    }
  }

  /** Fetches a signed link such as `pdf_url` or `download_url`. The token is not sent. */
  async download(url: string, options: Pick<CallOptions, "signal" | "timeoutMs"> = {}): Promise<Response> {
    return this.#retrying(true, options, async (signal) => {
      const response = await this.#fetch(new URL(url, this.baseUrl), { signal });
      if (!response.ok) throw new ProblemError(response, await response.text());
      return response;
    });
  }

  /** The data of the events of one connection. */
  async *#follow(path: string, following: Following, signal: AbortSignal | undefined): AsyncGenerator<string, void, undefined> {
    const headers = new Headers({ Accept: "text/event-stream" });
    if (following.lastEventId !== undefined) headers.set("Last-Event-ID", following.lastEventId);
    const token = typeof this.#token === "function" ? await this.#token() : this.#token;
    if (token) headers.set("Authorization", `Bearer ${token}`);
    const silence = new AbortController();
    const within = async <T>(milliseconds: number, step: Promise<T>): Promise<T> => {
      const timer = setTimeout(() => silence.abort(), milliseconds);
      return step.finally(() => clearTimeout(timer));
    };
    const ended = signal ? AbortSignal.any([signal, silence.signal]) : silence.signal;
    try {
      const response = await within(this.#timeoutMs, this.#fetch(this.baseUrl + path, { headers, signal: ended }));
      if (!response.ok) throw new ProblemError(response, await response.text());
      following.connected();
      const reader = response.body?.getReader();
      for (;;) {
        const part = await within(LONGEST_SILENCE_MS, reader?.read() ?? Promise.resolve(undefined));
        if (!part?.value) return;
        yield* following.feed(part.value);
      }
    } catch (failure) {
      if (silence.signal.aborted) throw new ConnectionError("the stream is silent", true, failure);
      // fetch tells of a network failure with a TypeError.
      if (failure instanceof TypeError) throw new ConnectionError("the connection failed", false, failure);
      throw failure;
    } finally {
      // Ends the connection too, when the caller stops before the stream does.
      silence.abort();
    }
  }

  async #call(method: Method, path: string, given: unknown): Promise<{ data: unknown; response: Response }> {
    const options = (given ?? {}) as AnyOptions;
    const verb = method.toUpperCase();
    const keyed = verb !== "GET" && !UNKEYED.has(`${verb} ${path}`);
    const headers = new Headers({ Accept: "application/json, */*;q=0.5", ...options.headers });
    // One key for all tries: the service carries the operation out once.
    if (keyed) headers.set("Idempotency-Key", options.idempotencyKey ?? crypto.randomUUID());
    const body = encodeBody(options.body, headers);
    const url = this.#url(path, options);
    return this.#retrying(keyed || verb === "GET", options, async (signal) => {
      const token = typeof this.#token === "function" ? await this.#token() : this.#token;
      if (token) headers.set("Authorization", `Bearer ${token}`);
      const response = await this.#fetch(url, { method: verb, headers, signal, ...(body === undefined ? {} : { body }) });
      if (!response.ok && response.status !== 304) throw new ProblemError(response, await response.text());
      return { data: await decodeBody(response), response };
    });
  }

  #url(path: string, options: AnyOptions): string {
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = options.path?.[name];
      if (value === undefined || value === "") throw new TypeError(`${path} needs ${name}`);
      return encodeURIComponent(value);
    });
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(options.query ?? {})) {
      for (const one of Array.isArray(value) ? value : [value]) {
        if (one !== undefined && one !== null) query.append(name, one instanceof Date ? one.toISOString() : String(one));
      }
    }
    return this.baseUrl + filled + (query.size > 0 ? `?${query}` : "");
  }

  async #retrying<T>(repeatable: boolean, options: CallOptions, attempt: (signal: AbortSignal) => Promise<T>): Promise<T> {
    for (let tries = 0; ; tries++) {
      try {
        return await this.#limited(options, attempt);
      } catch (failure) {
        const delay = tries < this.#maxRetries ? retryDelay(failure, tries, repeatable) : undefined;
        if (delay === undefined) throw failure;
        await wait(delay, options.signal);
      }
    }
  }

  /** Tries once within the time. What the caller ends, and what the caller's own code throws, passes as it is. */
  async #limited<T>(options: CallOptions, attempt: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const milliseconds = options.timeoutMs ?? this.#timeoutMs;
    const timeout = new AbortController();
    // Ends with the try, so that a stream or a large file may take longer.
    const timer = setTimeout(() => timeout.abort(), milliseconds);
    const signal = options.signal ? AbortSignal.any([options.signal, timeout.signal]) : timeout.signal;
    try {
      return await attempt(signal);
    } catch (failure) {
      options.signal?.throwIfAborted();
      if (timeout.signal.aborted) throw new ConnectionError(`no response within ${milliseconds} ms`, true, failure);
      // fetch tells of a network failure with a TypeError.
      if (failure instanceof TypeError) throw new ConnectionError("the connection failed", false, failure);
      throw failure;
    } finally {
      clearTimeout(timer);
    }
  }
}

function encodeBody(body: unknown, headers: Headers): BodyInit | undefined {
  if (body === undefined) return undefined;
  // fetch itself names the boundary of a form.
  if (body instanceof FormData) return body;
  if (typeof body === "string" || body instanceof Blob || body instanceof Uint8Array) {
    const type = body instanceof Blob && body.type !== "" ? body.type : "text/csv";
    if (!headers.has("Content-Type")) headers.set("Content-Type", type);
    return body as BodyInit;
  }
  headers.set("Content-Type", "application/json");
  return JSON.stringify(body);
}

async function decodeBody(response: Response): Promise<unknown> {
  const type = response.headers.get("content-type") ?? "";
  if (response.status === 204 || response.status === 304) return undefined;
  if (/[/+]json\b/.test(type)) return response.json();
  return type.startsWith("text/event-stream") ? response : response.blob();
}
