// Files that journeys upload.
import { crc32 } from 'node:zlib';

const CONTENT = '%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Lang (en) >>\nendobj\ntrailer << /Root 1 0 R >>\n%%EOF\n';

export type Upload = { name: string; mimeType: string; buffer: Buffer };

/** A small PDF that the service accepts. */
export function PDF(name: string): Upload {
  return { name, mimeType: 'application/pdf', buffer: Buffer.from(CONTENT) };
}

export function CSV(name: string, ...lines: string[]): Upload {
  return { name, mimeType: 'text/csv', buffer: Buffer.from(`${lines.join('\n')}\n`) };
}

type Cell = string | number;
const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
/** A text that begins with `=` is a formula. */
function cell(value: Cell, at: string): string {
  if (typeof value === 'number') return `<c r="${at}"><v>${value}</v></c>`;
  if (value.startsWith('=')) return `<c r="${at}"><f>${escaped(value.slice(1))}</f><v>1</v></c>`;
  return value === '' ? '' : `<c r="${at}" t="inlineStr"><is><t>${escaped(value)}</t></is></c>`;
}
function worksheet(rows: Cell[][]): string {
  const lines = rows.map((cells, row) => `<row r="${row + 1}">${cells.map((value, column) => cell(value, `${String.fromCharCode(65 + column)}${row + 1}`)).join('')}</row>`);
  return `${XML}<worksheet xmlns="${MAIN}"><sheetData>${lines.join('')}</sheetData></worksheet>`;
}

/** A workbook of these sheets. */
export function XLSX(name: string, sheets: Record<string, Cell[][]>): Upload {
  const titles = Object.keys(sheets);
  const relation = (id: number, type: string, target: string) => `<Relationship Id="r${id}" Type="${OFFICE}/${type}" Target="${target}"/>`;
  const relations = (inside: string) => `${XML}<Relationships xmlns="${PACKAGE}/relationships">${inside}</Relationships>`;
  const kind = (part: string, type: string) => `<Override PartName="/xl/${part}.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.${type}+xml"/>`;
  const files: Record<string, string> = {
    '[Content_Types].xml': `${XML}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${kind('workbook', 'sheet.main')}${titles.map((_, at) => kind(`worksheets/sheet${at + 1}`, 'worksheet')).join('')}</Types>`,
    '_rels/.rels': relations(relation(1, 'officeDocument', 'xl/workbook.xml')),
    'xl/workbook.xml': `${XML}<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets>${titles.map((title, at) => `<sheet name="${escaped(title)}" sheetId="${at + 1}" r:id="r${at + 1}"/>`).join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relations(titles.map((_, at) => relation(at + 1, 'worksheet', `worksheets/sheet${at + 1}.xml`)).join('')),
    ...Object.fromEntries(Object.values(sheets).map((rows, at) => [`xl/worksheets/sheet${at + 1}.xml`, worksheet(rows)])),
  };
  return { name, mimeType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', buffer: zip(files) };
}

/** A ZIP archive without compression. */
function zip(files: Record<string, string>): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [path, text] of Object.entries(files)) {
    const [title, content] = [Buffer.from(path), Buffer.from(text)];
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(0x21, 8);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(content.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(title.length, 22);
    const central = Buffer.alloc(46);
    central.write('PK\x01\x02', 'latin1');
    central.writeUInt16LE(20, 4);
    common.copy(central, 6);
    central.writeUInt32LE(offset, 42);
    directory.push(central, title);
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, title, content]);
    parts.push(local);
    offset += local.length;
  }
  const index = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(parts.length, 8);
  end.writeUInt16LE(parts.length, 10);
  end.writeUInt32LE(index.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, index, end]);
}
