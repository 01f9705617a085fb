// Webhooks as in Standard Webhooks 1.0: `webhook-signature` holds HMAC-SHA256 over id, timestamp and body.

import type { components } from "./generated/openapi.js";
import { TrunklineError } from "./problem.js";

/** The request is not a webhook of the service, or it is too old. Answer 400 and do nothing. */
export class WebhookVerificationError extends TrunklineError {
  override name = "WebhookVerificationError";
}

/** What a webhook tells: the resource, or the payload of the notification, is in `data`. */
export type WebhookEvent = components["schemas"] extends { Event: infer Event }
  ? Event
  : { id: string; type: string; timestamp: string; data: Record<string, unknown> };

export interface VerifyOptions {
  /** Seconds that the timestamp may differ from now; 300 unless told. */
  toleranceSeconds?: number;
  /** The time, for tests. */
  now?: Date;
}

type HeaderSource = Headers | Record<string, string | string[] | undefined>;

const DEFAULT_TOLERANCE_SECONDS = 300;
const PREFIX = "whsec_";
const VERSION = "v1,";

/**
 * Verifies a webhook and returns its event. Pass the body as it arrived, not parsed and serialized again. While a secret
 * is being replaced, pass both.
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: HeaderSource,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): Promise<WebhookEvent> {
  const id = required(headers, "webhook-id");
  const timestamp = required(headers, "webhook-timestamp");
  const signatures = required(headers, "webhook-signature").split(" ");
  verifyTime(timestamp, options);
  const keys = await Promise.all((typeof secret === "string" ? [secret] : secret).map((text) => keyOf(text, "verify")));
  const message = signedMessage(id, timestamp, body);
  for (const signature of signatures.filter((text) => text.startsWith(VERSION))) {
    const bytes = decodeBase64(signature.slice(VERSION.length));
    if (!bytes) continue;
    for (const key of keys) {
      // WebCrypto compares in constant time.
      if (await crypto.subtle.verify("HMAC", key, bytes, message)) return parse(body);
    }
  }
  throw new WebhookVerificationError("no signature matches");
}

/** Signs a webhook as the service does, to test a receiver. Returns the three headers. */
export async function signWebhook(
  body: string | Uint8Array,
  secret: string,
  { id, timestamp = new Date() }: { id: string; timestamp?: Date },
): Promise<{ "webhook-id": string; "webhook-timestamp": string; "webhook-signature": string }> {
  const seconds = Math.floor(timestamp.getTime() / 1000).toString();
  const key = await keyOf(secret, "sign");
  const signature = new Uint8Array(await crypto.subtle.sign("HMAC", key, signedMessage(id, seconds, body)));
  return {
    "webhook-id": id,
    "webhook-timestamp": seconds,
    "webhook-signature": VERSION + btoa(String.fromCharCode(...signature)),
  };
}

function required(headers: HeaderSource, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : lookUp(headers, name);
  if (!value) throw new WebhookVerificationError(`the header ${name} is missing`);
  return value;
}

function lookUp(headers: Record<string, string | string[] | undefined>, name: string): string | undefined {
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return Array.isArray(found) ? found[0] : found;
}

function verifyTime(timestamp: string, { toleranceSeconds = DEFAULT_TOLERANCE_SECONDS, now = new Date() }: VerifyOptions): void {
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookVerificationError("the timestamp is not a number of seconds");
  const age = Math.floor(now.getTime() / 1000) - Number(timestamp);
  if (age > toleranceSeconds) throw new WebhookVerificationError("the timestamp is too old");
  if (age < -toleranceSeconds) throw new WebhookVerificationError("the timestamp is in the future");
}

function keyOf(secret: string, usage: "sign" | "verify"): Promise<CryptoKey> {
  const bytes = decodeBase64(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret);
  if (!bytes || bytes.length === 0) throw new TypeError("a webhook secret is whsec_ and base64");
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, [usage]);
}

function signedMessage(id: string, timestamp: string, body: string | Uint8Array): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const head = encoder.encode(`${id}.${timestamp}.`);
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  const message = new Uint8Array(head.length + bytes.length);
  message.set(head);
  message.set(bytes, head.length);
  return message;
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function parse(body: string | Uint8Array): WebhookEvent {
  try {
    return JSON.parse(typeof body === "string" ? body : new TextDecoder().decode(body)) as WebhookEvent;
  } catch {
    throw new WebhookVerificationError("the body is not JSON");
  }
}
