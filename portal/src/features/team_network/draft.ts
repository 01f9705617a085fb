// The fields of an upstream that may change, as text in a form, and back.
import type { Schema } from '$api';
import { words as all } from './words';

type Upstream = Schema<'Upstream'>;
type Update = Schema<'UpstreamUpdate'>;
const words = all.upstream;

export type Draft = { markup: string; url: string; schedule: string; gateways: string; ips: string };

export const blank: Draft = { markup: '20', url: '', schedule: '', gateways: '', ips: '' };

export function draftOf(upstream: Upstream): Draft {
  return {
    markup: String(upstream.markup_percent),
    url: upstream.rate_import_url ?? '',
    schedule: upstream.rate_import_schedule ?? '',
    gateways: upstream.gateways.join('\n'),
    ips: upstream.signaling_ips.join('\n'),
  };
}

/** Every field with its label, for people who compare two versions. */
export function linesOf(draft: Draft): [label: string, text: string][] {
  return [
    [words.markupField, draft.markup],
    [words.gateways, draft.gateways],
    [words.ips, draft.ips],
    [words.url, draft.url],
    [words.schedule, draft.schedule],
  ];
}

export function bodyOf(draft: Draft) {
  return {
    markup_percent: Number(draft.markup.replace(',', '.')),
    rate_import_url: draft.url.trim() || null,
    rate_import_schedule: draft.schedule.trim() || null,
    gateways: lines(draft.gateways),
    signaling_ips: lines(draft.ips),
  };
}

/** Only what differs from the version that the form began with, so that other fields keep what others wrote. */
export function changesOf(draft: Draft, before: Upstream): Update {
  const after = bodyOf(draft);
  const update: Update = {};
  for (const name of Object.keys(after) as (keyof typeof after)[]) {
    if (JSON.stringify(after[name]) !== JSON.stringify(before[name])) Object.assign(update, { [name]: after[name] });
  }
  return update;
}

function lines(text: string): string[] {
  return text
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
