import { read } from '$api';
import { barred, type Need } from '$session';
import { words } from './words';

/** Why trunks and numbers cannot be changed now: the role, or an account that is not approved. Call at component init. */
export function changeReason(need: Need): { readonly reason: string | undefined } {
  const account = read('/account', () => ({}));
  return {
    get reason() {
      const status = account.data?.onboarding_status;
      if (barred(need) || !status || status === 'approved') return barred(need);
      return status === 'suspended' ? words.suspended : words.notApproved;
    },
  };
}
