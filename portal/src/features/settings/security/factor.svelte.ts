// Whether the user has an authenticator app. `GET /me` does not say; lists of users tell those who may read them
// whether there is any second factor, and passkeys are one, too.
import { list } from '$api';
import { session } from '$session';

export type Factor = 'on' | 'off' | 'unknown';

export function useFactor() {
  const isOwner = () => session.user?.account_role === 'owner';
  const users = list('/account/users', () => (isOwner() ? {} : null), { limit: 100 });
  const members = list('/admin/users', () => (session.team ? {} : null), { limit: 100 });
  const passkeys = list('/me/passkeys');

  return {
    passkeys,
    get state(): Factor {
      const id = session.user?.id;
      const has =
        users.rows.find((user) => user.id === id)?.two_factor ?? members.rows.find((member) => member.id === id)?.has_second_factor;
      if (has === undefined || passkeys.pending) return 'unknown';
      if (!has) return 'off';
      return passkeys.rows.length === 0 ? 'on' : 'unknown';
    },
  };
}
