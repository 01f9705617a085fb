// How long the oldest of a queue has waited. The API counts queues but gives no ages, so they come from the lists, as far
// as a list fits on one page.
import type { List } from '$api';
import { ago } from '$format';
import { words } from './words';

type Time = string | number | null | undefined;

export function oldest<R>(lists: List<R>[], since: (row: R) => Time, now: number): string | undefined {
  if (lists.some((list) => list.pending || list.more)) return undefined;
  const times = lists
    .flatMap((list) => list.rows)
    .map((row) => {
      const time = since(row);
      return typeof time === 'number' ? time * 1000 : time ? Date.parse(time) : Number.NaN;
    })
    .filter((time) => !Number.isNaN(time));
  return times.length > 0 ? words.queues.oldest(ago(Math.min(...times), now)) : undefined;
}
