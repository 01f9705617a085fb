// Files to and from the service.
import { address } from './client';
import { transport } from './transport';
import type { Options, PathWith, Result } from './types';

type UploadOptions<P extends PathWith<'post' | 'put'>, M extends 'post' | 'put'> = Options<P, M> & {
  form: FormData | File;
  key?: string;
  onprogress?: (fraction: number) => void;
};

/** Sends a form with files, or one file as it is. By XMLHttpRequest, since fetch reports no progress. */
export async function upload<P extends PathWith<'post'>>(path: P, options: UploadOptions<P, 'post'>): Promise<Result<P, 'post'>> {
  const { path: inPath, query, form, key, onprogress } = options as { path?: object; query?: object; form: FormData | File; key?: string; onprogress?: (fraction: number) => void };
  const response = await transport(
    (token) =>
      new Promise<Response>((resolve, reject) => {
        const request = new XMLHttpRequest();
        request.open('POST', address(path, inPath, query));
        if (token) request.setRequestHeader('Authorization', `Bearer ${token}`);
        if (key) request.setRequestHeader('Idempotency-Key', key);
        if (form instanceof File) request.setRequestHeader('Content-Type', /\.csv$/i.test(form.name) ? 'text/csv' : form.type || 'application/octet-stream');
        request.responseType = 'text';
        request.upload.onprogress = (event) => event.lengthComputable && onprogress?.(event.loaded / event.total);
        request.onerror = () => reject(new TypeError('The upload failed'));
        request.onload = () => {
          const headers = new Headers();
          for (const name of ['Content-Type', 'X-Request-Id', 'Retry-After']) {
            const value = request.getResponseHeader(name);
            if (value) headers.set(name, value);
          }
          const empty = request.status === 204 || request.responseText === '';
          resolve(new Response(empty ? null : request.responseText, { status: request.status, headers }));
        };
        request.send(form);
      }),
    { repeat: key !== undefined },
  );
  const text = await response.text();
  return (text ? JSON.parse(text) : undefined) as Result<P, 'post'>;
}

/** Saves the response of an authenticated GET as a file. */
export async function download<P extends PathWith<'get'>>(path: P, options: Options<P, 'get'>, filename: string): Promise<void> {
  const { path: inPath, query } = options as { path?: object; query?: object };
  const response = await transport(
    (token) => fetch(address(path, inPath, query), { headers: token ? { Authorization: `Bearer ${token}` } : {}, cache: 'no-store' }),
    { repeat: true },
  );
  save(await response.blob(), filename);
}

export function save(blob: Blob, filename: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = filename;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Opens a signed link (`/v1/files/…`), which is its own permission. Only links of this service are opened. */
export function openLink(url: string): void {
  const link = document.createElement('a');
  const target = new URL(url, location.origin);
  // The public address of the service may differ from the one it was reached by; the path is what counts.
  link.href = target.pathname.startsWith('/v1/files/') ? target.pathname + target.search : target.href;
  link.rel = 'noopener';
  link.target = '_blank';
  link.click();
}
