// Inventory groups come by cursor, newest first. What is shown of them is in the order of names, so all are read.
import { list, type List, type Options, type Schema } from '$api';

const MOST = 2000;

/** What `arrange` makes of the groups that match; beyond a bound the rest is read on request. */
export function arrangedGroups<Shown>(
  options: () => Options<'/numbers/inventory', 'get'>,
  arrange: (groups: Schema<'InventoryItem'>[]) => Shown[],
): List<Shown> {
  const groups = list('/numbers/inventory', options, { limit: 200 });
  const isFull = $derived(groups.rows.length >= MOST);
  $effect(() => {
    if (groups.more && !groups.loadingMore && !groups.error && !isFull) groups.loadMore();
  });
  const rows = $derived(arrange(groups.rows));
  return {
    get rows() { return rows; },
    get error() { return groups.error; },
    get pending() { return groups.pending; },
    get fetching() { return groups.fetching; },
    get more() { return groups.more && isFull; },
    get loadingMore() { return groups.loadingMore; },
    loadMore: groups.loadMore,
    refetch: groups.refetch,
  };
}
