// What the service says about itself to everybody: `GET /portal`.
import type { Schema } from '../api/types';

/** `lab` and `demo_password` are given by a service that was set up to be tried out. */
export type PortalInfo = Schema<'Portal'> & { lab?: boolean; demo_password?: string | null };

let info = $state.raw<PortalInfo>();
let loading: Promise<void> | undefined;

export const portal = {
  get info() { return info; },
  get name() { return info?.carrier_name ?? 'Trunkline'; },
  /** Safe to call often: one request, repeated until it succeeds. */
  load(): Promise<void> {
    loading ??= fetch('/v1/portal', { cache: 'no-store' })
      .then(async (response) => {
        if (!response.ok) throw new Error(`Status ${response.status}`);
        info = await response.json();
      })
      .catch(() => {
        loading = undefined;
        setTimeout(() => void portal.load(), 3000);
      });
    return loading;
  },
  async reload(): Promise<void> {
    loading = undefined;
    await portal.load();
  },
};
