// The pictures of the README: node tools/screenshots.mjs [FOLDER]
// Fills a database with demo data, starts the service on it, and takes each picture in light and dark. The browser's clock
// stands still, so that "3 minutes ago" is the same in all of them.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ADMIN, CUSTOMER, launch, settled, signedIn } from './pictures.mjs';

const root = new URL('../..', import.meta.url).pathname;
const program = process.env.TRUNKLINE_BIN ?? join(root, 'target/debug/trunkline');
const folder = process.argv[2] ?? join(root, 'docs/images');
const LIVE_CALLS_MS = 25_000;
const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 780 };

const PICTURES = [
  { name: 'home', who: CUSTOMER, size: DESKTOP, path: async () => '/' },
  { name: 'call', who: CUSTOMER, size: DESKTOP, path: async (read) => `/calls/${(await read('/cdrs?status=answered&limit=5')).data[0].id}` },
  { name: 'trunk', who: CUSTOMER, size: DESKTOP, path: async (read) => `/trunks/${(await read('/trunks')).data[0].id}` },
  { name: 'team', who: ADMIN, size: DESKTOP, path: async () => '/team' },
  { name: 'routes', who: ADMIN, size: DESKTOP, path: async () => '/team/routes?number=%2B31612345678' },
  { name: 'phone', who: CUSTOMER, size: PHONE, path: async () => '/' },
];

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

async function take(browser, url, now) {
  for (const colorScheme of ['light', 'dark']) {
    for (const { name, who, size, path } of PICTURES) {
      const { context, page, read } = await signedIn(browser, url, who, { viewport: size, colorScheme, deviceScaleFactor: 2, reducedMotion: 'reduce' });
      await page.clock.setFixedTime(now);
      await page.goto(await path(read));
      await settled(page);
      await page.screenshot({ path: join(folder, `portal-${name}-${colorScheme}.png`) });
      await context.close();
    }
  }
}

const data = mkdtempSync(join(tmpdir(), 'trunkline-screenshots-'));
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
  mkdirSync(folder, { recursive: true });
  console.log('Filling a database with demo data ...');
  execFileSync(program, ['demo'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  children.push(await started(['serve'], env, /^Operations\s/m));
  children.push(await started(['demo', '--live', '--calls-per-minute', '40'], env, /Placing calls/));
  await new Promise((resolve) => setTimeout(resolve, LIVE_CALLS_MS));
  const browser = await launch();
  await take(browser, url, new Date());
  await browser.close();
  console.log(`The pictures are in ${folder}.`);
} finally {
  for (const child of children.reverse()) await stopped(child);
  rmSync(data, { recursive: true, force: true });
}
