// The service on a database of its own with demo data, for scripts that look at the portal.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const root = new URL('../..', import.meta.url).pathname;
const program = process.env.TRUNKLINE_BIN ?? join(root, 'target/debug/trunkline');

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Starts a command of the program and waits for a line that it prints. */
function started(args, env, line) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    child.stdout.on('data', (chunk) => {
      said += chunk;
      if (line.test(said)) resolve(child);
    });
    child.on('error', reject);
    child.on('exit', (code) => reject(new Error(`${args[0]} ended with ${code}\n${said}`)));
  });
}

function stopped(child) {
  return new Promise((resolve) => {
    child.removeAllListeners('exit');
    child.on('exit', resolve);
    child.kill('SIGTERM');
  });
}

/** Calls `use` with the address of the service. With `live`, calls are being placed meanwhile. */
export async function withDemoService({ live = false }, use) {
  const data = mkdtempSync(join(tmpdir(), 'trunkline-demo-'));
  const [port, opsPort] = [await freePort(), await freePort()];
  const url = `http://localhost:${port}`;
  const env = {
    PATH: process.env.PATH,
    TRUNKLINE_DATA_DIR: data,
    TRUNKLINE_DATABASE_URL: `sqlite://${join(data, 'trunkline.db')}`,
    TRUNKLINE_LISTEN: `127.0.0.1:${port}`,
    TRUNKLINE_OPS_LISTEN: `127.0.0.1:${opsPort}`,
    TRUNKLINE_PUBLIC_URL: url,
    TRUNKLINE_RATE_LIMITS: 'off',
    TRUNKLINE_ALLOW_PRIVATE_IPS: 'on',
    TRUNKLINE_DRAIN_SECONDS: '0',
  };
  const children = [];
  try {
    console.log('Filling a database with demo data ...');
    execFileSync(program, ['demo'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
    children.push(await started(['serve'], env, /^\s*Operations\s/m));
    if (live) children.push(await started(['demo', '--live', '--calls-per-minute', '40'], env, /Placing calls/));
    await use(url);
  } finally {
    for (const child of children.reverse()) await stopped(child);
    rmSync(data, { recursive: true, force: true });
  }
}
