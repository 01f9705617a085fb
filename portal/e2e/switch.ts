// What a switch does: authorize calls, report them, import CDRs.
import { readFileSync } from 'node:fs';
import type { Service } from './service';

export function switchOf(service: Service) {
  const secret = readFileSync(`${service['data'].folder}/secrets/switch`, 'utf8').trim();
  async function post(path: string, body: string, type = 'application/json') {
    const headers = { Authorization: `Bearer ${secret}`, 'Content-Type': type };
    const response = await fetch(`${service['ops']}/switch/${path}`, { method: 'POST', headers, body });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }
  const report = (call_token: string, type: string, more = {}) =>
    post('events', JSON.stringify({ edge_id: 'edge-1', events: [{ event_id: crypto.randomUUID(), type, call_token, at: Date.now(), ...more }] }));
  async function authorize(source_ip: string, called: string) {
    const call = { edge_id: 'edge-1', call_id: crypto.randomUUID(), from_tag: '1', source_ip, calling: '+31201111111', called };
    const answer = await post('authorize', JSON.stringify(call));
    if (answer.decision !== 'allow') throw new Error(`the call was denied: ${answer.reason}`);
    return answer;
  }
  return {
    /** Begins a call from this address and has it answered; returns its token. */
    async call(source_ip: string, called: string): Promise<string> {
      const { call_token } = await authorize(source_ip, called);
      await report(call_token, 'answered');
      return call_token;
    },
    /** A call that its first route does not take, and that is given up then. */
    async fail(source_ip: string, called: string): Promise<void> {
      const { call_token, routes } = await authorize(source_ip, called);
      await report(call_token, 'attempt_failed', { upstream_id: routes[0].upstream_id, sip_code: 503 });
      await report(call_token, 'failed', { sip_code: 487 });
    },
    hangUp: (token: string) => report(token, 'ended', { status: 'answered' }),
    /** What the switch is told to hang up. */
    async toHangUp(): Promise<string[]> {
      return (await post('events', JSON.stringify({ edge_id: 'edge-1', events: [] }))).hang_up;
    },
    importCdrs: (lines: object[]) => post('cdrs', lines.map((line) => JSON.stringify(line)).join('\n'), 'application/x-ndjson'),
  };
}

type Api = { get: (path: string) => Promise<any> };

/** A trunk of a customer, and an address that its calls come from. */
export async function trunkOf(customer: Api): Promise<{ id: string; name: string; address: string }> {
  const [trunk] = (await customer.get('/trunks')).data;
  const [entry] = (await customer.get(`/trunks/${trunk.id}/ip-allow-list`)).data;
  return { id: trunk.id, name: trunk.name, address: String(entry.cidr).split('/')[0] ?? '' };
}
