import assert from "node:assert/strict";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { ConnectionError, ProblemError, Trunkline } from "@trunkline/client";

type Answer = (response: ServerResponse) => void;

interface Seen {
  url: string;
  headers: IncomingHttpHeaders;
}

const BEGIN = "retry: 5\nid: begin\n\n";

const event = (id: string) => {
  const data = { id, type: "kyb.approved", timestamp: "2026-01-31T12:00:00Z", data: { note: "\u2028Übergang" } };
  return `id: ${id}\nevent: kyb.approved\ndata: ${JSON.stringify(data)}\n\n`;
};

/** Sends this much of a stream, byte by byte if asked, and then ends the connection in the middle of the response. */
const stream =
  (text: string, size = 1000): Answer =>
  (response) => {
    const bytes = Buffer.from(text);
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    for (let at = 0; at < bytes.length; at += size) response.write(bytes.subarray(at, at + size));
    setTimeout(() => response.destroy(), 20);
  };

const hangUp: Answer = (response) => response.destroy();

const problem =
  (status: number, code: string, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response
      .writeHead(status, { "Content-Type": "application/problem+json", ...headers })
      .end(JSON.stringify({ type: `urn:service:voice:problem:${code}`, title: "Title", status }));

async function answering(answers: Answer[], use: (client: Trunkline, seen: Seen[]) => Promise<void>): Promise<void> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    seen.push({ url: request.url!, headers: request.headers });
    answers[Math.min(seen.length, answers.length) - 1]!(response);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  const client = new Trunkline({ baseUrl: `http://127.0.0.1:${port}/v1`, token: () => `key-${seen.length + 1}`, maxRetries: 1 });
  try {
    await use(client, seen);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** The ids of the first events. */
async function first(count: number, events: AsyncIterable<{ id: string }>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of events) {
    ids.push(id);
    if (ids.length === count) break;
  }
  return ids;
}

const lastIds = (seen: Seen[]) => seen.map((one) => one.headers["last-event-id"]);

test("follows a stream over connections without a gap", async () => {
  const answers = [
    stream(BEGIN),
    stream(BEGIN + event("e-1") + ":\n\n" + event("e-2") + event("e-3").slice(0, 40), 1),
    hangUp,
    problem(503, "service.unavailable", { "Retry-After": "0" }),
    stream(BEGIN.replace("begin", "e-2") + event("e-3").replaceAll("\n", "\r\n"), 3),
  ];
  await answering(answers, async (client, seen) => {
    assert.deepEqual(await first(3, client.stream("/events/stream")), ["e-1", "e-2", "e-3"]);
    // The first id came before any event.
    assert.deepEqual(lastIds(seen), [undefined, "begin", "e-2", "e-2", "e-2"]);
    assert.deepEqual(
      seen.map((one) => one.headers.authorization),
      ["Bearer key-1", "Bearer key-2", "Bearer key-3", "Bearer key-4", "Bearer key-5"],
    );
    assert.equal(seen[0]!.headers.accept, "text/event-stream");
  });
});

test("begins after an event that was seen", async () => {
  await answering([stream(event("e-8"))], async (client, seen) => {
    const events = client.stream("/admin/events/stream", { lastEventId: "e-7" });
    const { value } = await events.next();
    assert.equal(value?.type, "kyb.approved");
    await events.return();
    assert.equal(seen[0]!.url, "/v1/admin/events/stream");
    assert.deepEqual(lastIds(seen), ["e-7"]);
  });
});

test("throws what the service refuses, and a first connection that fails", async () => {
  await answering([stream(BEGIN), problem(401, "auth.token_expired")], async (client, seen) => {
    await assert.rejects(first(1, client.stream("/events/stream")), (error) => error instanceof ProblemError && error.code === "auth.token_expired");
    assert.equal(seen.length, 2);
  });
  await answering([hangUp], async (client, seen) => {
    await assert.rejects(first(1, client.stream("/events/stream")), ConnectionError);
    assert.equal(seen.length, 2);
  });
});

test("ends a stream with its signal", async () => {
  const open: Answer = (response) => response.writeHead(200, { "Content-Type": "text/event-stream" }).write(event("e-1"));
  await answering([open], async (client, seen) => {
    const ending = new AbortController();
    const events = client.stream("/events/stream", { signal: ending.signal });
    assert.equal((await events.next()).value?.id, "e-1");
    setTimeout(() => ending.abort(new Error("enough")), 10);
    await assert.rejects(events.next(), /enough/);
    assert.equal(seen.length, 1);
  });
});
