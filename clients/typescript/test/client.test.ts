import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { ConnectionError, ProblemError, Trunkline } from "@trunkline/client";

interface Seen {
  method: string;
  url: string;
  headers: IncomingMessage["headers"];
  body: string;
}

type Answer = (response: ServerResponse, seen: Seen) => void;

/** Answers each request by the next of these, and returns what was asked. */
async function answering(answers: Answer[], use: (client: Trunkline, seen: Seen[]) => Promise<void>, maxRetries = 3): Promise<void> {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const one = { method: request.method!, url: request.url!, headers: request.headers, body };
    seen.push(one);
    answers[Math.min(seen.length, answers.length) - 1]!(response, one);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  const client = new Trunkline({ baseUrl: `http://127.0.0.1:${port}/v1/`, token: "tl_test_key", maxRetries });
  try {
    await use(client, seen);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const json =
  (status: number, value: unknown, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(value));

const problem = (status: number, code: string, more: object = {}, headers: Record<string, string> = {}): Answer =>
  json(
    status,
    { type: `urn:service:voice:problem:${code}`, title: "Title", status, instance: "/v1", request_id: "req-1", ...more },
    { "Content-Type": "application/problem+json", ...headers },
  );

const hangUp: Answer = (response) => response.destroy();

const trunk = { name: "Main", zone: "eu-west", channel_cap: 10 };

test("sends token, query, path and body", async () => {
  await answering([json(200, { id: "a/b" })], async (client, seen) => {
    await client.patch("/trunks/{id}", { path: { id: "a/b" }, body: { cps_limit: null }, headers: { "If-Match": '"1"' } });
    await client.get("/cdrs", { query: { status: "answered", limit: 2 } });
    assert.equal(seen[0]!.url, "/v1/trunks/a%2Fb");
    assert.equal(seen[0]!.body, '{"cps_limit":null}');
    assert.equal(seen[0]!.headers.authorization, "Bearer tl_test_key");
    assert.equal(seen[0]!.headers["if-match"], '"1"');
    assert.equal(seen[1]!.url, "/v1/cdrs?status=answered&limit=2");
    assert.equal(seen[1]!.headers["idempotency-key"], undefined);
  });
});

test("retries with the same idempotency key", async () => {
  const busy = problem(503, "service.unavailable", {}, { "Retry-After": "0" });
  await answering([hangUp, busy, json(201, { id: "1" })], async (client, seen) => {
    const made = await client.post("/trunks", { body: trunk });
    assert.equal(made.id, "1");
    const keys = seen.map((one) => one.headers["idempotency-key"]);
    assert.equal(keys.length, 3);
    assert.equal(new Set(keys).size, 1);
    assert.match(String(keys[0]), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});

test("keeps the caller's idempotency key, and chooses another for another call", async () => {
  const key = "3f0d6bd5-9f1c-4b6e-8f2c-3f3a3f7f0b11";
  await answering([json(201, {})], async (client, seen) => {
    await client.post("/trunks", { body: trunk, idempotencyKey: key });
    await client.post("/trunks", { body: trunk });
    await client.post("/trunks", { body: trunk });
    const keys = seen.map((one) => one.headers["idempotency-key"]);
    assert.equal(keys[0], key);
    assert.equal(new Set(keys).size, 3);
  });
});

test("waits as long as Retry-After says", async () => {
  const limited = problem(429, "rate_limited", { retry_after: 1 }, { "Retry-After": "1" });
  await answering([limited, json(200, { data: [] })], async (client) => {
    const begun = performance.now();
    await client.get("/trunks");
    assert.ok(performance.now() - begun >= 990);
  });
});

test("waits for a request with the same key that is still running", async () => {
  const running = problem(409, "idempotency.in_progress", {}, { "Retry-After": "0" });
  await answering([running, json(201, { id: "1" })], async (client, seen) => {
    await client.post("/trunks", { body: trunk });
    assert.equal(seen.length, 2);
  });
});

test("does not wait for a service that asks for more than a minute", async () => {
  await answering([problem(429, "rate_limited", { retry_after: 3600 })], async (client, seen) => {
    await assert.rejects(client.get("/trunks"), (error) => error instanceof ProblemError && error.retryAfter === 3600);
    assert.equal(seen.length, 1);
  });
});

test("does not repeat a lost sign-in, which has no idempotency key", async () => {
  await answering([hangUp], async (client, seen) => {
    const lost = client.post("/auth/sign-in", { body: { email: "ada@carrier.example", password: "correct horse battery staple" } });
    await assert.rejects(lost, (error) => error instanceof ConnectionError && !error.timedOut);
    assert.equal(seen.length, 1);
    assert.equal(seen[0]!.headers["idempotency-key"], undefined);
  });
});

test("gives up after the last retry, and at once on other problems", async () => {
  const busy = problem(503, "service.unavailable", {}, { "Retry-After": "0" });
  await answering([busy], async (client, seen) => {
    await assert.rejects(client.get("/me"), (error) => error instanceof ProblemError && error.status === 503);
    assert.equal(seen.length, 2);
  }, 1);
  await answering([problem(500, "internal")], async (client, seen) => {
    await assert.rejects(client.get("/me"), (error) => error instanceof ProblemError && error.code === "internal");
    assert.equal(seen.length, 1);
  });
});

test("throws a problem with its code, fields and request id", async () => {
  const invalid = { detail: "One field is not valid.", invalid_params: [{ name: "zone", reason: "is required" }] };
  await answering([problem(422, "validation.failed", invalid)], async (client) => {
    await assert.rejects(client.post("/trunks", { body: trunk }), (error) => {
      assert.ok(error instanceof ProblemError);
      assert.equal(error.status, 422);
      assert.equal(error.code, "validation.failed");
      assert.equal(error.detail, "One field is not valid.");
      assert.deepEqual(error.errors, [{ name: "zone", reason: "is required" }]);
      assert.equal(error.requestId, "req-1");
      return true;
    });
  });
});

test("throws what a proxy answers", async () => {
  const page: Answer = (response) => response.writeHead(403, { "Content-Type": "text/html" }).end("<h1>No</h1>");
  await answering([page], async (client) => {
    await assert.rejects(client.get("/me"), (error) => error instanceof ProblemError && error.code === "unknown" && error.status === 403);
  });
});

test("iterates over all pages of each kind of list", async () => {
  const pages: Answer = (response, { url }) => {
    const cursor = new URL(url, "http://localhost").searchParams.get("cursor");
    const next = cursor === null ? "b" : null;
    const items = cursor === null ? [{ id: 1 }, { id: 2 }] : [{ id: 3 }];
    if (url.startsWith("/v1/cdrs")) json(200, { data: items, meta: { next_cursor: next, limit: 2 } })(response, {} as Seen);
    else if (url.startsWith("/v1/admin/beta")) json(200, { items, ...(next ? { next_cursor: next } : {}) })(response, {} as Seen);
    else json(200, { rows: items, ...(next ? { next_cursor: next } : {}) })(response, {} as Seen);
  };
  await answering([pages], async (client, seen) => {
    const ids: unknown[] = [];
    for await (const cdr of client.paginate("/cdrs", { query: { status: "answered", limit: 2 } })) ids.push(cdr.id);
    for await (const signup of client.paginate("/admin/beta")) ids.push(signup.id);
    for await (const row of client.paginate("/admin/audit-log")) ids.push(row.id);
    assert.deepEqual(ids, [1, 2, 3, 1, 2, 3, 1, 2, 3]);
    assert.equal(seen[1]!.url, "/v1/cdrs?status=answered&limit=2&cursor=b");
  });
});

test("goes on after an empty page, and stops where the cursor repeats", async () => {
  const pages = [
    json(200, { data: [], meta: { next_cursor: "a", limit: 50 } }),
    json(200, { data: [{ id: "1" }], meta: { next_cursor: "b", limit: 50 } }),
    json(200, { data: [], meta: { next_cursor: "b", limit: 50 } }),
  ];
  await answering(pages, async (client, seen) => {
    const ids: string[] = [];
    for await (const cdr of client.paginate("/cdrs")) ids.push(cdr.id);
    assert.deepEqual(ids, ["1"]);
    assert.equal(seen.length, 3);
  });
});

test("asks for no more pages than it is iterated over", async () => {
  await answering([json(200, { data: [{ id: "1" }], meta: { next_cursor: "b", limit: 1 } })], async (client, seen) => {
    for await (const cdr of client.paginate("/cdrs")) {
      assert.equal(cdr.id, "1");
      break;
    }
    assert.equal(seen.length, 1);
  });
});

test("times out, and ends when its caller says so", async () => {
  await answering([() => undefined], async (client) => {
    const late = client.get("/me", { timeoutMs: 100 });
    await assert.rejects(late, (error) => error instanceof ConnectionError && error.timedOut);
    const ended = new AbortController();
    const call = client.get("/me", { signal: ended.signal });
    ended.abort(new Error("enough"));
    await assert.rejects(call, /enough/);
  }, 1);
});

test("returns files as blobs, and nothing for 204", async () => {
  const csv: Answer = (response) => response.writeHead(200, { "Content-Type": "text/csv" }).end("prefix\n31\n");
  await answering([csv, (response) => response.writeHead(204).end()], async (client) => {
    assert.equal(await (await client.get("/rates/export")).text(), "prefix\n31\n");
    assert.equal(await client.delete("/trunks/{id}", { path: { id: "1" } }), undefined);
  });
});

test("sends forms and CSV as they are", async () => {
  await answering([json(201, {})], async (client, seen) => {
    const form = new FormData();
    form.set("doc_kind", "company_registration");
    form.set("file", new Blob(["%PDF-1.7"], { type: "application/pdf" }), "extract.pdf");
    await client.post("/me/kyb/documents", { body: form });
    assert.match(String(seen[0]!.headers["content-type"]), /^multipart\/form-data; boundary=/);
    assert.match(seen[0]!.body, /filename="extract.pdf"/);
    await client.post("/admin/upstreams/{id}/rates/import", { path: { id: "1" }, query: { dry_run: true }, body: "prefix,rate\n" });
    assert.equal(seen[1]!.headers["content-type"], "text/csv");
    assert.equal(seen[1]!.body, "prefix,rate\n");
  });
});

test("asks a function for the token at each try, and downloads without it", async () => {
  await answering([hangUp, json(200, {}), json(200, {})], async (plain, seen) => {
    let turn = 0;
    const client = new Trunkline({ baseUrl: plain.baseUrl, token: async () => `token-${++turn}` });
    await client.get("/me");
    assert.equal(seen[1]!.headers.authorization, "Bearer token-2");
    await client.download("/v1/files/abc");
    assert.equal(seen[2]!.url, "/v1/files/abc");
    assert.equal(seen[2]!.headers.authorization, undefined);
  });
});

test("returns the response beside the data", async () => {
  await answering([json(200, { id: "1" }, { ETag: '"7"' })], async (client) => {
    const { data, response } = await client.request("get", "/trunks/{id}", { path: { id: "1" } });
    assert.equal(data.id, "1");
    assert.equal(response.headers.get("etag"), '"7"');
  });
});

/** Never called: the compiler must refuse each of these. */
export async function misuse(client: Trunkline): Promise<void> {
  // @ts-expect-error There is no such path.
  await client.get("/trunk");
  // @ts-expect-error The id is missing.
  await client.get("/trunks/{id}");
  // @ts-expect-error There is no such status.
  await client.get("/cdrs", { query: { status: "ringing" } });
  // @ts-expect-error The name is missing.
  await client.post("/trunks", { body: { zone: "eu-west", channel_cap: 1 } });
  // @ts-expect-error A trunk has no color.
  (await client.get("/trunks/{id}", { path: { id: "1" } })).color;
  // @ts-expect-error A single resource has no pages.
  client.paginate("/me");
}
