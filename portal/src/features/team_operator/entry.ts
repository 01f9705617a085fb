// The details of an audit log entry. A change has its old and new value; everything else is a note.
import type { Schema } from '$api';
import { words } from './words';

export type Entry = Schema<'AuditLogRow'>;
export type Change = { field: string; before: string; after: string };
export type Details = { changes: Change[]; notes: { field: string; value: string }[] };

type Pair = { from: unknown; to: unknown };
const isPair = (value: unknown): value is Pair =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 2 && 'from' in value && 'to' in value;

export function detailsOf(entry: Entry): Details {
  const found: Details = { changes: [], notes: [] };
  for (const [field, value] of Object.entries(parsed(entry.meta))) {
    if (isPair(value)) found.changes.push({ field, before: shown(value.from), after: shown(value.to) });
    else found.notes.push({ field, value: shown(value) });
  }
  return found;
}

function parsed(meta: string | null): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(meta ?? '{}');
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function shown(value: unknown): string {
  if (value === null || value === undefined || value === '') return words.audit.nothing;
  return typeof value === 'object' ? JSON.stringify(value, null, 1) : String(value);
}
