// How one side of a call is shown: a number, or whatever was sent instead of one.
import { phone } from '$format';
import { words } from './words';

export function partyOf(sent: string): { text: string; look: string; dir: 'ltr' | 'auto' } {
  if (/^\+\d+$/.test(sent)) return { text: phone(sent), look: 'mono nowrap', dir: 'ltr' };
  if (sent === 'anonymised') return { text: words.anonymised, look: 'muted', dir: 'auto' };
  return { text: sent || words.none, look: sent ? '' : 'muted', dir: 'auto' };
}
