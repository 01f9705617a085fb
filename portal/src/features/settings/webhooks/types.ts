// The types of events that an endpoint can name, in groups a person finds them by.
import type { Selector } from './paths';
import { words } from './words';

export const ALL: Selector = '*';

export const groups: { label: string; types: Selector[] }[] = [
  {
    label: words.types.groups.money,
    types: [
      'balance.low', 'balance.exhausted', 'topup.created', 'topup.completed', 'topup.failed', 'recharge.failed', 'payment.disputed',
      'payment.dispute_won', 'payment.dispute_lost', 'invoice.issued', 'invoice.paid', 'invoice.voided', 'rates.changed',
    ],
  },
  {
    label: words.types.groups.numbers,
    types: ['number.ordered', 'number.active', 'number.failed', 'number.renewal_ahead', 'number.renewal_failed', 'number.released'],
  },
  {
    label: words.types.groups.trunks,
    types: [
      'trunk.created', 'trunk.updated', 'trunk.deleted', 'allow_list.entry_removed', 'fraud.cap_reached', 'fraud.spend_jump', 'quality.low_asr',
      'export.ready', 'calls.ended',
    ],
  },
  {
    label: words.types.groups.account,
    types: [
      'account.status_changed', 'account.suspended', 'account.reinstated', 'kyb.approved', 'kyb.rejected', 'compliance.more_info', 'vat.valid',
      'vat.invalid', 'ticket.replied', 'webhook.disabled',
    ],
  },
];
