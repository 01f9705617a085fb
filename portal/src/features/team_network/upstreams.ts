// The upstreams as options of a select; an operator has a handful.
import { list } from '$api';

export function upstreamOptions(first: string) {
  const upstreams = list('/admin/upstreams', () => ({}), { limit: 200 });
  return {
    get options() {
      return [{ value: '', label: first }, ...upstreams.rows.map((one) => ({ value: one.id, label: one.name }))];
    },
  };
}
