// The operations on the authenticator app exist twice and do the same; admins have their own.
import { send, type Schema } from '$api';
import { session } from '$session';

const isAdmin = () => session.user?.roles.includes('admin') ?? false;
type Code = { body: { code: string }; key: string };

export const app = {
  enroll: (o: { key: string }): Promise<Schema<'Enrollment'>> => (isAdmin() ? send('post', '/admin/2fa/enroll', o) : send('post', '/me/2fa/enroll', o)),
  confirm: (o: Code): Promise<Schema<'RecoveryCodes'>> => (isAdmin() ? send('post', '/admin/2fa/confirm', o) : send('post', '/me/2fa/confirm', o)),
  recoveryCodes: (o: Code): Promise<Schema<'RecoveryCodes'>> =>
    isAdmin() ? send('post', '/admin/2fa/recovery-codes', o) : send('post', '/me/2fa/recovery-codes', o),
  disable: (o: Code) => (isAdmin() ? send('post', '/admin/2fa/disable', o) : send('post', '/me/2fa/disable', o)),
};
