// What the palette finds in the data, and where it leads.
import { ask, type Schema } from '$api';
import { phone } from '$format';
import { session } from '$session';
import type { Command } from './commands';
import { words } from './words';

function hrefOf({ kind, id, customer_id }: Schema<'SearchHit'>): string {
  const customer = `/team/customers/${customer_id}`;
  switch (kind) {
    case 'customer': return `/team/customers/${id}`;
    case 'user': return `${customer}/users`;
    case 'number': return `${customer}/numbers`;
    case 'ip_address': return `${customer}/trunks`;
    case 'call': return `/team/calls/${id}`;
    case 'invoice': return `${customer}/invoices`;
    case 'ticket': return `/team/tickets/${id}`;
  }
}

async function forTeam(q: string, signal: AbortSignal): Promise<Command[]> {
  const { body } = await ask('get', '/admin/search', { query: { q }, signal });
  return (body as Schema<'SearchHits'>).data.map((hit) => ({
    group: words.paletteFound,
    label: hit.kind === 'number' ? phone(hit.title) : hit.title,
    detail: [words.hit[hit.kind], hit.subtitle].filter(Boolean).join(' · '),
    href: hrefOf(hit),
  }));
}

/** Numbers by their first digits, trunks by a part of their name, calls by their whole Call-ID. */
async function forCustomer(q: string, signal: AbortSignal): Promise<Command[]> {
  const group = words.paletteFound;
  const digits = q.replace(/[\s().-]/g, '');
  const rows = async <T>(path: string, query: object) => ((await ask('get', path, { query, signal })).body as { data: T[] }).data;
  const [numbers, trunks, calls] = await Promise.all([
    /^\+?\d{3,}$/.test(digits) ? rows<Schema<'Did'>>('/numbers', { q: digits, limit: 5 }) : [],
    rows<Schema<'Trunk'>>('/trunks', { limit: 200 }),
    q.length >= 8 && !/\s/.test(q) ? rows<Schema<'CdrListItem'>>('/cdrs', { call_id: q, limit: 5 }) : [],
  ]);
  const like = q.toLowerCase();
  return [
    ...numbers.map((did) => ({ group, label: phone(did.e164), detail: words.hit.number, href: `/numbers/${did.id}` })),
    ...trunks.filter(({ name }) => name.toLowerCase().includes(like)).slice(0, 5).map(({ id, name }) => ({ group, label: name, detail: words.hit.trunk, href: `/trunks/${id}` })),
    ...calls.map((call) => ({ group, label: `${phone(call.calling)} → ${phone(call.called)}`, detail: words.hit.call, href: `/calls/${call.id}` })),
  ];
}

export const find = (q: string, signal: AbortSignal) => (session.team ? forTeam(q, signal) : forCustomer(q, signal));
