// Why the signed-in user may not do something, as a sentence for the disabled button; `undefined` if it may.
import { session } from './session.svelte';

export type Need = 'owner' | 'billing' | 'technical' | 'member' | 'admin' | 'support';

const REASONS: Record<Need, string> = {
  owner: 'Only an owner of the account can do this.',
  billing: 'Only an owner or a user with the billing role can do this.',
  technical: 'Only an owner or a user with the technical role can do this.',
  member: 'Only users of a customer can do this.',
  admin: 'Only an admin can do this.',
  support: 'Only the team can do this.',
};

export function barred(need: Need): string | undefined {
  const user = session.user;
  if (session.impersonating) return 'You are viewing this account as its user: nothing can be changed.';
  if (!user) return 'Sign in first.';
  const may =
    need === 'admin' ? user.roles.includes('admin')
    : need === 'support' ? session.team
    : need === 'member' ? true
    : user.account_role === 'owner' || user.account_role === need;
  return may ? undefined : REASONS[need];
}
