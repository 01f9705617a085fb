// Links to PDFs expire after 15 minutes, so a new one is made for each download.
import { ask, type Schema } from '$api';

export async function fetchPdfLink(id: string): Promise<Schema<'InvoicePdf'>> {
  const { body } = await ask('get', '/invoices/{id}/pdf', { path: { id } });
  return body as Schema<'InvoicePdf'>;
}
