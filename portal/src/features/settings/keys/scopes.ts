// The scopes that the signed-in user can give, and why not the others.
import type { Schema } from '$api';
import { session } from '$session';
import { words } from './words';

export type Scope = Schema<'Scope'>;
export type ScopeChoice = { scope: Scope; text: string; reason?: string };

/** A user gives only scopes that its own role covers; those of `technical` are all but this one. */
const OWNER_ONLY: Scope[] = ['billing:write'];

export function scopeChoices(isTeam: boolean): ScopeChoice[] {
  const groups: Record<string, Record<string, string>> = isTeam ? words.teamGroups : words.groups;
  const isOwner = session.user?.account_role === 'owner';
  return Object.values(groups)
    .flatMap((group) => Object.entries(group))
    .map(([scope, text]) => ({
      scope: scope as Scope,
      text,
      reason: !isTeam && !isOwner && OWNER_ONLY.includes(scope as Scope) ? words.ownerScope : undefined,
    }));
}

/** One network on each line, or separated by spaces or commas. */
export const networksOf = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);
