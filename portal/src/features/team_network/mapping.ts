// A sheet mapping as text in a form, and back. What it shares with the mapping of statements is its layout.
import type { Schema } from '$api';
import { words as all } from './words';

type Mapping = Schema<'SheetMapping'>;
type Input = Schema<'SheetMappingInput'>;
type Layout = Partial<Pick<Mapping, 'format' | 'sheet' | 'header_row' | 'date_format' | 'decimal_separator'>>;
type Lines = [label: string, text: string][];
export type Column = keyof Mapping['columns'];
export type LayoutDraft = {
  format: NonNullable<Mapping['format']> | '';
  sheet: string;
  row: string;
  dates: string;
  decimals: NonNullable<Mapping['decimal_separator']> | '';
};
export type MappingDraft = LayoutDraft & {
  columns: Record<Column, string>;
  separator: NonNullable<Mapping['prefix_separator']> | '';
  closed: string;
};

const words = all.mapping;
export const columns = Object.keys(words.columns) as Column[];
export const isRequired = (column: Column) => column === 'prefix' || column === 'destination_name' || column === 'rate_per_minute';

export const each = <C extends string, T>(names: readonly C[], value: (name: C) => T) =>
  Object.fromEntries(names.map((name) => [name, value(name)])) as Record<C, T>;
export const numberOf = (text: string) => (text.trim() ? Number(text) : null);
const chosen = (options: readonly { value: string; label: string }[], value: string) => options.find((option) => option.value === value)?.label ?? '';

export const layoutDraft = (of?: Layout | null): LayoutDraft => ({
  format: of?.format ?? '',
  sheet: of?.sheet ?? '',
  row: String(of?.header_row ?? ''),
  dates: of?.date_format ?? '',
  decimals: of?.decimal_separator ?? '',
});

export const layoutBody = ({ format, sheet, row, dates, decimals }: LayoutDraft) => ({
  format: format || null,
  sheet: sheet.trim() || null,
  header_row: numberOf(row),
  date_format: dates.trim() || null,
  decimal_separator: decimals || null,
});

export const layoutLines = ({ format, sheet, row, dates, decimals }: LayoutDraft): Lines => [
  [words.format, chosen(words.formatOptions, format)],
  [words.sheet, sheet],
  [words.row, row],
  [words.dates, dates],
  [words.decimals, chosen(words.decimalOptions, decimals)],
];

export function mappingDraft(of?: Mapping | null): MappingDraft {
  return {
    ...layoutDraft(of),
    columns: each(columns, (column) => of?.columns[column] ?? ''),
    separator: of?.prefix_separator ?? '',
    closed: of?.closed_values.join(', ') ?? '',
  };
}

export function mappingBody(draft: MappingDraft): Input {
  return {
    ...layoutBody(draft),
    columns: each(columns, (column) => draft.columns[column].trim() || null) as Input['columns'],
    prefix_separator: draft.separator || null,
    closed_values: draft.closed.split(',').map((word) => word.trim()).filter(Boolean),
  };
}

/** Every field with its label, for people who compare two versions. */
export const mappingLines = (draft: MappingDraft): Lines => [
  ...columns.map((column): [string, string] => [words.columns[column], draft.columns[column]]),
  ...layoutLines(draft),
  [words.separator, chosen(words.separatorOptions, draft.separator)],
  [words.closed, draft.closed],
];
