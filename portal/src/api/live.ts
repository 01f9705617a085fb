// Live data: the event stream says what has changed, and what is shown of it is read again. One tab holds the stream and
// tells the others; while it is down, open screens are read again every half minute.
import { session } from '../session/session.svelte';
import { queries } from './client';
import { stale } from './index';

/** Beginning of an event's type → what customers and the team have read that it concerns. */
const CONCERNS: [type: string, customer: string[], team: string[]][] = [
  ['balance.', ['/account/balance', '/account/ledger'], ['/admin/dunning', '/admin/customers']],
  ['topup.', ['/payments/topups', '/account/balance', '/account/ledger'], ['/admin/payments', '/admin/customers']],
  ['recharge.', ['/account/auto-recharge', '/account/balance', '/payments'], ['/admin/dunning', '/admin/payments']],
  ['invoice.', ['/invoices', '/account/balance'], ['/admin/invoices', '/admin/dunning']],
  ['number.', ['/numbers', '/trunks', '/compliance'], ['/admin/did-inventory', '/admin/customers/{id}/numbers', '/admin/customers/{id}/orders']],
  ['trunk.', ['/trunks', '/quotas'], ['/admin/trunks', '/admin/customers/{id}/trunks']],
  ['allow_list.', ['/trunks'], ['/admin/trunks']],
  ['fraud.', ['/fraud-caps', '/account/balance'], ['/admin/customers/{id}/fraud-caps']],
  ['quality.', ['/asr-acd', '/usage'], ['/admin/traffic']],
  ['export.', ['/cdrs/exports'], ['/admin/cdrs/exports']],
  ['vat.', ['/account/vat', '/account', '/me'], ['/admin/customers']],
  ['rates.', ['/rates', '/price-notices'], ['/admin/rates', '/admin/rate-plans', '/admin/customers/{id}/rate-plan', '/admin/price-notices']],
  ['route.', [], ['/admin/routes', '/admin/inbox']],
  ['kyb.', ['/me', '/compliance', '/account'], ['/admin/kyb', '/admin/beta', '/admin/onboarding', '/admin/inbox']],
  ['compliance.', ['/compliance', '/numbers/orders', '/me'], ['/admin/compliance', '/admin/inbox']],
  ['ticket.', ['/tickets'], ['/admin/tickets', '/admin/inbox']],
  ['account.', ['/account', '/me'], ['/admin/customers', '/admin/onboarding', '/admin/inbox']],
  ['payment.', ['/account/balance', '/account/ledger', '/payments'], ['/admin/chargebacks', '/admin/payments']],
  ['webhook.', ['/webhook-endpoints'], ['/admin/webhook-endpoints', '/admin/customers/{id}/webhook-endpoints']],
];

const GATHER_MS = 800;
const FALLBACK_MS = 30_000;
const channel = new BroadcastChannel('trunkline.events');
let waiting = new Set<string>();
let gathering: ReturnType<typeof setTimeout> | undefined;

/** Events come in bursts: each path is read again once for all of them. */
function hear(type: string): void {
  const concerned = CONCERNS.filter(([start]) => type.startsWith(start)).flatMap(([, customer, team]) => (session.team ? team : customer));
  for (const path of [...concerned, ...(session.team ? ['/admin/events'] : ['/notifications', '/events'])]) waiting.add(path);
  gathering ??= setTimeout(() => {
    const paths = [...waiting];
    waiting = new Set();
    gathering = undefined;
    stale(...paths);
  }, GATHER_MS);
}

/** When the holder of the stream last said that it is connected; the service sends a comment every 15 seconds. */
let connectedAt = 0;

channel.onmessage = ({ data }: MessageEvent<{ user: string; type?: string }>) => {
  if (data.user !== session.user?.id) return;
  connectedAt = Date.now();
  if (data.type) hear(data.type);
};

const pause = (ms: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });

/** Reads blocks of server-sent events until the stream ends; a block without a type shows that it is alive. */
async function follow(response: Response, onevent: (id: string | undefined, type: string | undefined) => void): Promise<void> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const part = await reader?.read();
    if (!part || part.done) return;
    const blocks = (rest + part.value).split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map(block.split(/\r?\n/).map((line) => [line.split(':', 1)[0] ?? '', line.slice(line.indexOf(':') + 1).trim()] as const));
      const data = fields.get('data');
      const type = fields.get('event') ?? (data ? (JSON.parse(data) as { type?: string }).type : undefined);
      onevent(fields.get('id'), type);
    }
  }
}

async function hold(signal: AbortSignal): Promise<void> {
  const user = session.user?.id ?? '';
  let last: string | undefined;
  for (let failures = 0; !signal.aborted; ) {
    const token = await session.freshToken().catch(() => undefined);
    if (token) {
      try {
        const headers: Record<string, string> = { Authorization: `Bearer ${token}` };
        if (last) headers['Last-Event-ID'] = last;
        const response = await fetch(session.team ? '/v1/admin/events/stream' : '/v1/events/stream', { headers, signal, cache: 'no-store' });
        if (!response.ok) throw new Error(`Status ${response.status}`);
        failures = 0;
        await follow(response, (id, type) => {
          last = id ?? last;
          connectedAt = Date.now();
          if (type) hear(type);
          channel.postMessage({ user, type });
        });
      } catch {
        failures += 1;
      }
    }
    await pause(token ? Math.min(1000 * 2 ** failures, 30_000) : 5000, signal);
  }
}

let stop: AbortController | undefined;

/** Begins when somebody is signed in, ends when nobody is. Impersonation has no stream: each read of it is audited. */
export function follows(user: string | undefined): void {
  stop?.abort();
  stop = undefined;
  if (!user || session.impersonating) return;
  const { signal } = (stop = new AbortController());
  const holding = navigator.locks.request(`trunkline.events.${user}`, { signal }, () => hold(signal));
  void holding.catch(() => {});
  const timer = setInterval(() => {
    if (Date.now() - connectedAt < FALLBACK_MS || document.visibilityState !== 'visible' || session.idle) return;
    void queries.invalidateQueries({ refetchType: 'active' });
  }, FALLBACK_MS);
  signal.addEventListener('abort', () => clearInterval(timer));
}
