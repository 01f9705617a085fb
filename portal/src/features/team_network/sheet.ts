// Files of tables: how they are sent, and the head of a CSV file, read in the browser to show which columns count.
import type { Schema } from '$api';

export type Column = { name: string; required: boolean };
export type Sheet = { header: string[]; rows: string[][] };

export const inventoryColumns: Column[] = [
  { name: 'e164', required: true },
  { name: 'country', required: true },
  { name: 'type', required: true },
  { name: 'prefix', required: true },
  { name: 'monthly', required: true },
  { name: 'area_name', required: false },
  { name: 'capabilities', required: false },
  { name: 'setup', required: false },
  { name: 'regulatory', required: false },
];

const HEAD_BYTES = 64 * 1024;
const ROWS = 5;

/** A spreadsheet by its name, where the service reads CSV only. */
export const isSpreadsheet = (file: File) => /\.(xlsx?|ods|numbers)$/i.test(file.name);

/** The service decides by the media type, which browsers take from the system's registry, so it is set here. */
export const asCsv = (file: File) => new File([file], file.name, { type: 'text/csv' });

const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

/** A rate sheet as it is, or in a form with the mapping that it is to be read by. */
export function asSheet(file: File, mapping?: Schema<'SheetMappingInput'> | null): File | FormData {
  const sheet = new File([file], file.name, { type: /\.xlsx$/i.test(file.name) ? XLSX : 'text/csv' });
  if (!mapping) return sheet;
  const form = new FormData();
  form.append('mapping', JSON.stringify(mapping));
  form.append('file', sheet);
  return form;
}

export async function headOf(file: File): Promise<Sheet> {
  const text = (await file.slice(0, HEAD_BYTES).text()).replace(/^\uFEFF/, '');
  const [header = [], ...rows] = parse(text, separatorOf(text), ROWS + 2);
  // The last row may be cut off by the size of the head.
  const whole = file.size > HEAD_BYTES ? rows.slice(0, -1) : rows;
  return { header: header.map((name) => name.trim()), rows: whole.slice(0, ROWS) };
}

function separatorOf(text: string): string {
  const first = text.slice(0, text.search(/[\r\n]|$/));
  const counted = [',', ';', '\t'].map((mark) => ({ mark, count: first.split(mark).length }));
  return counted.reduce((best, next) => (next.count > best.count ? next : best)).mark;
}

function parse(text: string, separator: string, limit: number): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = '';
  let quoted = false;
  for (let at = 0; at < text.length && rows.length < limit; at++) {
    const mark = text[at];
    if (quoted) {
      if (mark !== '"') cell += mark;
      else if (text[at + 1] === '"') cell += text[++at];
      else quoted = false;
    } else if (mark === '"') quoted = true;
    else if (mark === separator) {
      row.push(cell);
      cell = '';
    } else if (mark === '\n') {
      row.push(cell.replace(/\r$/, ''));
      if (row.some((value) => value !== '')) rows.push(row);
      row = [];
      cell = '';
    } else cell += mark;
  }
  if ((cell !== '' || row.length > 0) && rows.length < limit) rows.push([...row, cell]);
  return rows;
}
