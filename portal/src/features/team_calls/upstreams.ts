// The upstreams by name; an operator has a handful.
import { list } from '$api';
import { words } from './words';

export function upstreamNames() {
  const upstreams = list('/admin/upstreams', () => ({}), { limit: 200 });
  return {
    get options() {
      return [{ value: '', label: words.anyUpstream }, ...upstreams.rows.map((one) => ({ value: one.id, label: one.name }))];
    },
    name: (id: string): string => upstreams.rows.find((one) => one.id === id)?.name ?? id,
  };
}
