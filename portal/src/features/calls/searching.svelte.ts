// Lists that look at so many rows per page: with a rare filter a page can be empty and have more behind it.
import type { List } from '$api';

/** Searches on until something is found or nothing is left. Call it at component init. */
export function searchOn<Row>(list: List<Row>): { readonly busy: boolean } {
  const isBusy = $derived(list.more && list.rows.length === 0 && !list.error);
  $effect(() => {
    if (isBusy && !list.fetching) list.loadMore();
  });
  return {
    get busy() {
      return isBusy;
    },
  };
}
