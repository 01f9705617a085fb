// The read-only view of a customer's portal. Its token goes to the new tab after the `#`, which no server sees, and stays there.
import type { Schema } from '../api/types';

export function impersonate(granted: Schema<'AdminImpersonateResponse'>): void {
  const fragment = new URLSearchParams({ token: granted.access_token, expires: granted.expires_at });
  open(`/impersonate#${fragment}`, '_blank', 'noopener');
}
