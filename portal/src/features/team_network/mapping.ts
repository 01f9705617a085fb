// A sheet mapping as text in a form, and back.
import type { Schema } from '$api';
import { words as all } from './words';

type Mapping = Schema<'SheetMapping'>;
type Input = Schema<'SheetMappingInput'>;
export type Column = keyof Mapping['columns'];
export type MappingDraft = {
  columns: Record<Column, string>;
  format: NonNullable<Mapping['format']> | '';
  sheet: string;
  row: string;
  dates: string;
  decimals: NonNullable<Mapping['decimal_separator']> | '';
  separator: NonNullable<Mapping['prefix_separator']> | '';
  closed: string;
};

const words = all.mapping;
export const columns = Object.keys(words.columns) as Column[];
export const isRequired = (column: Column) => column === 'prefix' || column === 'destination_name' || column === 'rate_per_minute';

const each = <T>(value: (column: Column) => T) => Object.fromEntries(columns.map((column) => [column, value(column)])) as Record<Column, T>;

export function mappingDraft(of?: Mapping | null): MappingDraft {
  return {
    columns: each((column) => of?.columns[column] ?? ''),
    format: of?.format ?? '',
    sheet: of?.sheet ?? '',
    row: String(of?.header_row ?? ''),
    dates: of?.date_format ?? '',
    decimals: of?.decimal_separator ?? '',
    separator: of?.prefix_separator ?? '',
    closed: of?.closed_values.join(', ') ?? '',
  };
}

export function mappingBody(draft: MappingDraft): Input {
  return {
    columns: each((column) => draft.columns[column].trim() || null) as Input['columns'],
    format: draft.format || null,
    sheet: draft.sheet.trim() || null,
    header_row: draft.row.trim() ? Number(draft.row) : null,
    date_format: draft.dates.trim() || null,
    decimal_separator: draft.decimals || null,
    prefix_separator: draft.separator || null,
    closed_values: draft.closed.split(',').map((word) => word.trim()).filter(Boolean),
  };
}

/** Every field with its label, for people who compare two versions. */
export function mappingLines(draft: MappingDraft): [label: string, text: string][] {
  const chosen = (options: readonly { value: string; label: string }[], value: string) => options.find((option) => option.value === value)?.label ?? '';
  return [
    ...columns.map((column): [string, string] => [words.columns[column], draft.columns[column]]),
    [words.format, chosen(words.formatOptions, draft.format)],
    [words.sheet, draft.sheet],
    [words.row, draft.row],
    [words.dates, draft.dates],
    [words.decimals, chosen(words.decimalOptions, draft.decimals)],
    [words.separator, chosen(words.separatorOptions, draft.separator)],
    [words.closed, draft.closed],
  ];
}
