import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { signWebhook, verifyWebhook, WebhookVerificationError } from "@trunkline/client";
import { Webhook } from "standardwebhooks";

interface Vector {
  name: string;
  secrets: string[];
  id: string | null;
  timestamp: string | null;
  body: string;
  signature: string | null;
  now: number;
  valid: boolean;
}

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const BODY = '{"id":"evt_1","type":"topup.completed","timestamp":"2026-01-31T12:00:00Z","data":{"company":"Café Zürich"}}';

// Compiled tests are in build/test.
const file = new URL("../../../webhook-vectors.json", import.meta.url);
const { vectors } = JSON.parse(readFileSync(file, "utf8")) as { vectors: Vector[] };

for (const vector of vectors) {
  test(`webhook: ${vector.name}`, async () => {
    const headers = {
      "webhook-id": vector.id ?? undefined,
      "webhook-timestamp": vector.timestamp ?? undefined,
      "webhook-signature": vector.signature ?? undefined,
    };
    const verified = verifyWebhook(vector.body, headers, vector.secrets, { now: new Date(vector.now * 1000) });
    if (vector.valid) assert.deepEqual(await verified, JSON.parse(vector.body));
    else await assert.rejects(verified, WebhookVerificationError);
  });
}

test("signs the published vector as published", async () => {
  const published = vectors[0]!;
  const timestamp = new Date(published.now * 1000);
  const headers = await signWebhook(published.body, published.secrets[0]!, { id: published.id!, timestamp });
  assert.equal(headers["webhook-signature"], published.signature);
});

test("accepts what the standardwebhooks package signs", async () => {
  const now = new Date();
  const signature = new Webhook(SECRET).sign("evt_1", now, BODY);
  const headers = { "Webhook-Id": "evt_1", "Webhook-Timestamp": `${Math.floor(now.getTime() / 1000)}`, "Webhook-Signature": signature };
  assert.deepEqual(await verifyWebhook(BODY, headers, SECRET), JSON.parse(BODY));
  assert.deepEqual(await verifyWebhook(new TextEncoder().encode(BODY), new Headers(headers), SECRET), JSON.parse(BODY));
});

test("signs what the standardwebhooks package accepts", async () => {
  const headers = await signWebhook(BODY, SECRET, { id: "evt_1" });
  assert.deepEqual(new Webhook(SECRET).verify(BODY, headers), JSON.parse(BODY));
  assert.throws(() => new Webhook(SECRET).verify(`${BODY} `, headers));
});

test("refuses a secret that is none", async () => {
  await assert.rejects(signWebhook(BODY, "whsec_", { id: "evt_1" }), TypeError);
  await assert.rejects(signWebhook(BODY, "whsec_§", { id: "evt_1" }), TypeError);
});
