// The mapping of statements as text in a form, and back.
import type { Schema } from '$api';
import { each, layoutBody, layoutDraft, layoutLines, numberOf, type LayoutDraft } from './mapping';
import { words as all } from './words';

type Mapping = Schema<'StatementMapping'>;
type Input = Schema<'StatementMappingInput'>;
export type Column = keyof Mapping['columns'];
export type StatementDraft = LayoutDraft & { columns: Record<Column, string>; zone: string; starts: string; durations: string };

const words = all.statementMapping;
export const columns = Object.keys(words.columns) as Column[];
export const isRequired = (column: Column) => column === 'called_number' || column === 'started_at' || column === 'duration_seconds';

export const statementDraft = (of?: Mapping | null): StatementDraft => ({
  ...layoutDraft(of),
  columns: each(columns, (column) => of?.columns[column] ?? ''),
  zone: of?.time_zone ?? '',
  starts: String(of?.start_tolerance_seconds ?? ''),
  durations: String(of?.duration_tolerance_seconds ?? ''),
});

export const statementBody = (draft: StatementDraft): Input => ({
  ...layoutBody(draft),
  columns: each(columns, (column) => draft.columns[column].trim() || null) as Input['columns'],
  time_zone: draft.zone.trim() || null,
  start_tolerance_seconds: numberOf(draft.starts),
  duration_tolerance_seconds: numberOf(draft.durations),
});

/** Every field with its label, for people who compare two versions. */
export const statementLines = (draft: StatementDraft): [label: string, text: string][] => [
  ...columns.map((column): [string, string] => [words.columns[column], draft.columns[column]]),
  ...layoutLines(draft),
  [words.zone, draft.zone],
  [all.statements.starts, draft.starts],
  [all.statements.durations, draft.durations],
];
