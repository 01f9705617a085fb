// The service as a process, on a copy of a database that `trunkline demo` filled, or on an empty one.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = new URL('../..', import.meta.url).pathname;
const program = process.env.TRUNKLINE_BIN ?? join(root, 'target/debug/trunkline');
/** Where databases are made if journeys run on PostgreSQL: the URL of a user who may create them. */
const postgres = process.env.TRUNKLINE_E2E_DATABASE_URL ?? process.env.TRUNKLINE_TEST_POSTGRES;

const DAYS = 40;
const CALLS = 2500;

export type Settings = Record<string, string>;
/** A data folder with its database. */
export type Data = { folder: string; database?: string };

const databaseUrl = ({ folder, database }: Data) => {
  if (!database || !postgres) return `sqlite://${join(folder, 'trunkline.db')}`;
  const url = new URL(postgres);
  url.pathname = `/${database}`;
  return url.href;
};

function environment(data: Data, settings: Settings): Settings {
  return {
    PATH: process.env.PATH ?? '',
    TRUNKLINE_DATA_DIR: data.folder,
    TRUNKLINE_DATABASE_URL: databaseUrl(data),
    TRUNKLINE_RATE_LIMITS: 'off',
    TRUNKLINE_ALLOW_PRIVATE_IPS: 'on',
    ...settings,
  };
}

function sql(statement: string): void {
  const bin = process.env.TRUNKLINE_TEST_POSTGRES_BIN;
  execFileSync(bin ? join(bin, 'psql') : 'psql', [postgres ?? '', '--quiet', '--command', statement], { stdio: ['ignore', 'ignore', 'inherit'] });
}

const newFolder = () => mkdtempSync(join(tmpdir(), 'trunkline-e2e-'));
const databaseName = (folder: string) => (postgres ? folder.replace(/^.*\//, '').replaceAll('-', '_').toLowerCase() : undefined);

/** An empty database. */
export function emptyData(): Data {
  const folder = newFolder();
  const database = databaseName(folder);
  if (database) sql(`CREATE DATABASE ${database}`);
  return { folder, database };
}

/** A database with customers at every stage, calls, payments and invoices. */
export function demoData(): Data {
  const data = emptyData();
  const settings = environment(data, { TRUNKLINE_LISTEN: '127.0.0.1:0', TRUNKLINE_OPS_LISTEN: '127.0.0.1:0' });
  execFileSync(program, ['demo', '--days', String(DAYS), '--calls', String(CALLS)], { env: settings, stdio: ['ignore', 'ignore', 'inherit'] });
  return data;
}

export function copyData(of: Data): Data {
  const folder = newFolder();
  cpSync(of.folder, folder, { recursive: true });
  const database = databaseName(folder);
  if (database && of.database) sql(`CREATE DATABASE ${database} TEMPLATE ${of.database}`);
  return { folder, database };
}

export function removeData({ folder, database }: Data): void {
  rmSync(folder, { recursive: true, force: true });
  if (database) sql(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}

export class Service {
  private constructor(
    readonly url: string,
    private readonly ops: string,
    private readonly data: Data,
    private child: ChildProcess,
    private readonly begin: () => Promise<ChildProcess>,
  ) {}

  /** Starts on this data, which it removes in the end. Browsers accept passkeys of `localhost`, not of an address. */
  static async start(data: Data, settings: Settings = {}): Promise<Service> {
    const [port, opsPort] = [await freePort(), await freePort()];
    const url = `http://localhost:${port}`;
    const env = environment(data, {
      TRUNKLINE_LISTEN: `127.0.0.1:${port}`,
      TRUNKLINE_OPS_LISTEN: `127.0.0.1:${opsPort}`,
      TRUNKLINE_PUBLIC_URL: url,
      ...settings,
    });
    const begin = () => started(env);
    return new Service(url, `http://127.0.0.1:${opsPort}`, data, await begin(), begin);
  }

  /** Moves the test clock (`TRUNKLINE_TEST_CLOCK=on`); answers when everything that became due has run. */
  async advance(seconds: number): Promise<void> {
    const secret = readFileSync(join(this.data.folder, 'secrets/switch'), 'utf8').trim();
    const response = await fetch(`${this.ops}/ops/clock`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ advance_seconds: seconds }),
    });
    if (!response.ok) throw new Error(`the clock was not moved: ${response.status} ${await response.text()}`);
  }

  /** The newest mail to this address, as text. Lines that the mail wrapped are joined. */
  async mail(to: string, about = ''): Promise<string> {
    const outbox = join(this.data.folder, 'outbox');
    for (let waited = 0; waited < 100; waited++) {
      const mails = readdirSync(outbox).filter((name) => !name.startsWith('.')).sort().reverse().map((name) => readFileSync(join(outbox, name), 'utf8'));
      const found = mails.find((mail) => new RegExp(`^To:.*${to}`, 'im').test(mail) && mail.includes(about));
      if (found) return found.replace(/=\r?\n/g, '').replaceAll('=3D', '=');
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error(`no mail to ${to} about "${about}"`);
  }

  /** The link of the newest mail to this address that leads to this screen, as an address of the portal. */
  async link(to: string, screen: string): Promise<string> {
    const found = new RegExp(`${screen}#token=[\\w.~-]+`).exec(await this.mail(to, `${screen}#token=`))?.[0];
    if (!found) throw new Error(`no link to ${screen} in the mail to ${to}`);
    return `/${found}`;
  }

  /** The token that creates the first admin, as the console prints it. */
  bootstrapToken(): string {
    return readFileSync(join(this.data.folder, 'secrets/bootstrap'), 'utf8').trim();
  }

  /** Ends the process as a deployment would, until `restart`. */
  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.kill('SIGTERM');
    await ended;
  }

  async restart(): Promise<void> {
    this.child = await this.begin();
  }

  async end(): Promise<void> {
    if (this.child.exitCode === null) await this.stop();
    removeData(this.data);
  }
}

/** The process, once it has said that it is up. */
function started(env: Settings): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, ['serve'], { env: { ...env, TRUNKLINE_DRAIN_SECONDS: '0' }, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    let errors = '';
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (/^\s*Operations\s/m.test(said)) resolve(child);
    });
    child.stderr.on('data', (chunk: Buffer) => (errors = `${errors}${chunk.toString()}`.slice(-4000)));
    child.on('error', reject);
    child.on('exit', (code) => reject(new Error(`the service ended with ${code}\n${said}\n${errors}`)));
  });
}
