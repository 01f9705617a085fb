// A program that gets webhooks: answers with a status that a journey sets, and remembers what was posted.
import { createServer, type IncomingMessage } from 'node:http';

export type Receiver = { url: string; status: number; received: { headers: IncomingMessage['headers']; body: string }[]; close: () => Promise<void> };

export function startReceiver(): Promise<Receiver> {
  return new Promise((resolve) => {
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        receiver.received.push({ headers: request.headers, body });
        response.writeHead(receiver.status).end('answer of the receiver');
      });
    });
    const receiver: Receiver = { url: '', status: 200, received: [], close: () => new Promise((done) => server.close(() => done())) };
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      receiver.url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/hook`;
      resolve(receiver);
    });
  });
}
