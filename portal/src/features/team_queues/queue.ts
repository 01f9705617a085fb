// Queues in the order of waiting. The API lists the newest first; as far as rows are loaded, the oldest come first here.
import type { List } from '$api';

type Time = string | number | null | undefined;

/** Several lists as one, sorted by when waiting began. */
export function oldestFirst<R>(lists: List<R>[], since: (row: R) => Time): List<R> {
  const at = (row: R) => {
    const time = since(row);
    return typeof time === 'number' ? time * 1000 : time ? Date.parse(time) : Number.POSITIVE_INFINITY;
  };
  return {
    get rows() {
      return lists.flatMap((list) => list.rows).sort((a, b) => at(a) - at(b));
    },
    get error() {
      return lists.find((list) => list.error)?.error;
    },
    get pending() {
      return lists.some((list) => list.pending);
    },
    get fetching() {
      return lists.some((list) => list.fetching);
    },
    get more() {
      return lists.some((list) => list.more);
    },
    get loadingMore() {
      return lists.some((list) => list.loadingMore);
    },
    loadMore() {
      for (const list of lists) if (list.more) list.loadMore();
    },
    async refetch() {
      await Promise.all(lists.map((list) => list.refetch()));
    },
  };
}
