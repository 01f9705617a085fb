// Receives one webhook: prints its port, reads the secret from standard input, and prints what it verified.

import { once } from "node:events";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { verifyWebhook } from "@trunkline/client";

const received = [];
const server = createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  received.push({ body: Buffer.concat(parts), headers: request.headers });
  response.writeHead(204).end();
  server.emit("received");
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const arrived = once(server, "received", { signal: AbortSignal.timeout(60_000) });
console.log(server.address().port);

const lines = createInterface({ input: process.stdin });
const [secret] = await once(lines, "line");
await arrived;
const event = await verifyWebhook(received[0].body, received[0].headers, secret);
console.log(`verified ${event.type}`);
process.exit(0);
