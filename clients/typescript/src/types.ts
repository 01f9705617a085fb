// Types of a call, derived from the generated description: `client.get("/trunks/{id}", …)` knows its path parameters,
// query, body and result.

import type { components, paths } from "./generated/openapi.js";

/** Every schema of the API by its name, such as `Schemas["Trunk"]`. */
export type Schemas = components["schemas"];

export type Method = "get" | "post" | "put" | "patch" | "delete";

/** The paths that have this method. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P][M] extends object ? P : never;
}[keyof paths];

export type Operation<P extends keyof paths, M extends Method> = NonNullable<paths[P][M]>;

type PathParameters<Op> = Op extends { parameters: { path: infer T } } ? { path: T } : { path?: never };

type QueryParameters<Op> = Op extends { parameters: { query: infer T } }
  ? { query: T }
  : Op extends { parameters: { query?: infer T } }
    ? { query?: T }
    : { query?: never };

type RequestBody<Op> = Op extends { requestBody: infer B }
  ? { body: Payload<B> }
  : Op extends { requestBody?: infer B }
    ? [NonNullable<B>] extends [never]
      ? { body?: never }
      : { body?: Payload<NonNullable<B>> }
    : { body?: never };

type Payload<B> = B extends { content: infer C }
  ? C extends { "application/json": infer Json }
    ? Json
    : C extends { "multipart/form-data": unknown; "text/csv": unknown }
      ? FormData | string | Blob | Uint8Array
      : C extends { "multipart/form-data": unknown }
        ? FormData
        : string | Blob | Uint8Array
  : never;

/** What every call takes beside its parameters. */
export interface CallOptions {
  /** UUID v4 that stands for this operation; chosen by the client if absent. */
  idempotencyKey?: string;
  /** Further headers, such as `If-Match`. */
  headers?: Record<string, string>;
  /** Milliseconds for each try, in place of the client's. */
  timeoutMs?: number;
  /** Ends the call, also while it waits to try again. */
  signal?: AbortSignal;
}

/** The options of a call. Taken apart by operation first: the parts of a union of operations are not combined. */
export type Options<Op> = Op extends unknown
  ? PathParameters<Op> & QueryParameters<Op> & RequestBody<Op> & CallOptions
  : never;

/** The options, which may be left out if nothing in them is required. */
export type Arguments<Op> = Op extends unknown
  ? Partial<Options<Op>> extends Options<Op>
    ? [options?: Options<Op>]
    : [options: Options<Op>]
  : never;

type Success<Op> = Op extends { responses: infer R } ? R[keyof R & (200 | 201 | 202 | 204)] : never;

type Content<R> = R extends { content: infer C }
  ? C extends { "application/json": infer Json }
    ? Json
    : C extends { "text/event-stream": unknown }
      ? Response
      : Blob
  : undefined;

/** What an operation answers: JSON, a file, a stream, or nothing. */
export type Result<Op> = Content<Success<Op>>;

/** The lists that are read page by page. */
export type PagedPath = {
  [P in PathOf<"get">]: Operation<P, "get"> extends { parameters: { query?: { cursor?: unknown } } }
    ? ItemOf<Result<Operation<P, "get">>> extends never
      ? never
      : P
    : never;
}[PathOf<"get">];

type ItemOf<Page> = Page extends { data: (infer T)[] }
  ? T
  : Page extends { items: (infer T)[] }
    ? T
    : Page extends { rows: (infer T)[] }
      ? T
      : never;

/** One item of a list. */
export type Item<P extends PagedPath> = ItemOf<Result<Operation<P, "get">>>;

/** The streams of events. */
export type StreamPath = {
  [P in PagedPath]: `${P}/stream` extends PathOf<"get"> ? `${P}/stream` : never;
}[PagedPath];

/** What a stream sends: an item of the list beside it. */
export type Streamed<P extends StreamPath> = P extends `${infer L}/stream` ? (L extends PagedPath ? Item<L> : never) : never;

/** The options of a stream. */
export interface StreamOptions {
  /** Id of the last event that you have seen; the stream goes on after it. */
  lastEventId?: string | undefined;
  /** Ends the stream. */
  signal?: AbortSignal;
}
