// Files that journeys upload.

const CONTENT = '%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Lang (en) >>\nendobj\ntrailer << /Root 1 0 R >>\n%%EOF\n';

/** A small PDF that the service accepts. */
export function PDF(name: string): { name: string; mimeType: string; buffer: Buffer } {
  return { name, mimeType: 'application/pdf', buffer: Buffer.from(CONTENT) };
}
