export { Trunkline, type ClientOptions } from "./client.js";
export { ConnectionError, ProblemError, TrunklineError, type Problem } from "./problem.js";
export type { CallOptions, Item, Method, Operation, Options, PagedPath, PathOf, Result, Schemas, Streamed, StreamOptions, StreamPath } from "./types.js";
export { signWebhook, verifyWebhook, WebhookVerificationError, type VerifyOptions, type WebhookEvent } from "./webhooks.js";
export type { paths } from "./generated/openapi.js";
