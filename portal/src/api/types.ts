// What a path literal of the API says about its parameters, its body and its response.
import type { components, paths } from './schema';

export type Schema<N extends keyof components['schemas']> = components['schemas'][N];
export type Path = keyof paths;
export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

type Operation<P extends Path, M extends Method> = NonNullable<paths[P][M]>;
export type PathWith<M extends Method> = { [P in Path]: [Operation<P, M>] extends [never] ? never : P }[Path];

// Values of a query come from the address, so any text is accepted; the service validates it. Names stay checked.
type Loose<Q> = { [K in keyof Q]: Q[K] | string | null | undefined };
type PathPart<O> = O extends { parameters: { path: infer T } } ? { path: T } : { path?: undefined };
type QueryPart<O> = O extends { parameters: { query: infer T extends object } }
  ? { query: Loose<T> }
  : O extends { parameters: { query?: infer T } }
    ? { query?: Loose<NonNullable<T>> }
    : { query?: undefined };
type BodyPart<O> = O extends { requestBody: { content: { 'application/json': infer T } } }
  ? { body: T }
  : O extends { requestBody?: { content: { 'application/json': infer T } } }
    ? { body?: T }
    : { body?: undefined };

export type Options<P extends Path, M extends Method> = PathPart<Operation<P, M>> & QueryPart<Operation<P, M>>;
export type SendOptions<P extends Path, M extends Method> = Options<P, M> & BodyPart<Operation<P, M>> & { key?: string; etag?: string };

type Good = 200 | 201 | 202 | 204;
type Content<R> = R extends { content: { 'application/json': infer T } } ? T : undefined;
export type Result<P extends Path, M extends Method> =
  Operation<P, M> extends { responses: infer R } ? { [K in keyof R & Good]: Content<R[K]> }[keyof R & Good] : never;

type RowIn<B> = B extends { data: (infer R)[] } ? R : B extends { items: (infer R)[] } ? R : B extends { rows: (infer R)[] } ? R : never;
type Paged<P extends Path> = Operation<P, 'get'> extends { parameters: { query?: { limit?: unknown } } } ? P : never;
/** Lists that take `limit` and `cursor`. */
export type ListPath = {
  [P in Path]: [Operation<P, 'get'>] extends [never] ? never : [RowIn<Result<P, 'get'>>] extends [never] ? never : Paged<P>;
}[Path];
export type Row<P extends ListPath> = RowIn<Result<P, 'get'>>;
