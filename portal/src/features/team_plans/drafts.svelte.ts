// Changed rules of plans that are not saved yet. They outlive the screen: a link to another one must not lose them.
import { SvelteMap } from 'svelte/reactivity';
import { session } from '$session';
import type { Rule } from './rules';

/** The rules as they are to be, with the version of the plan that they began with. */
export type Draft = { rules: Rule[]; etag: string | undefined };

const drafts = new SvelteMap<string, Draft>();

/** The draft of this user for a plan. */
export function draftOf(id: () => string) {
  const key = () => `${session.user?.id ?? ''} ${id()}`;
  return {
    get current(): Draft | undefined { return drafts.get(key()); },
    set current(draft: Draft | undefined) {
      if (draft) drafts.set(key(), draft);
      else drafts.delete(key());
    },
  };
}
