// The texts of notifications. Amounts and times arrive as text that is ready to show.

export const words = {
  title: 'Notifications',
  lead: 'What happened to the account. All users share this list and its read marks.',
  show: 'Show',
  all: 'All',
  unread: 'Unread',
  readAll: 'Mark all as read',
  markedAll: (count: number) => (count === 1 ? '1 notification was marked as read.' : `${count} notifications were marked as read.`),
  read: 'Mark as read',
  empty: 'No notifications',
  emptyText: 'Payments, numbers, documents and limits report here.',
  noneUnread: 'Nothing is unread',
  noneUnreadText: 'Show all to see older notifications.',
  preferences: 'Choose what is mailed',
  more: 'Show more',
  isUnread: 'Unread',
} as const;

/** The title and the sentence of each code. */
export const texts = {
  'balance.low': { title: 'Balance is low', text: (balance: string, threshold: string) => `${balance} is left, which is below the threshold of ${threshold}.` },
  'balance.exhausted': { title: 'Balance is used up', text: (balance: string) => `The balance is ${balance}. Calls and orders are refused until it is topped up.` },
  'topup.completed': { title: 'Top-up completed', text: (amount: string, after: string) => `${amount} was added. The balance is ${after}.` },
  'topup.failed': { title: 'Top-up failed', text: (amount: string, reason: string) => `The payment of ${amount} failed${reason}.` },
  'recharge.failed': {
    title: 'Auto-recharge failed',
    text: (amount: string, reason: string, disabled: boolean) =>
      `The charge of ${amount} was declined${reason}.${disabled ? ' Auto-recharge was switched off.' : ''}`,
  },
  'payment.disputed': {
    title: 'Payment disputed',
    text: (amount: string, after: string, disabled: boolean) =>
      `The card’s bank disputes ${amount}, which was taken out of the balance. The balance is ${after}.${disabled ? ' Auto-recharge was switched off.' : ''}`,
  },
  'payment.dispute_won': { title: 'Dispute decided: payment stands', text: (amount: string, after: string) => `${amount} is back on the balance, which is ${after}.` },
  'payment.dispute_lost': { title: 'Dispute decided: payment returned', text: (amount: string, after: string) => `${amount} went back to the card. The balance is ${after}.` },
  'invoice.issued': { title: 'Invoice issued', text: (number: string, total: string, due: string) => `Invoice ${number} of ${total} is due on ${due}.` },
  'number.active': { title: 'Number is active', text: (number: string) => `${number} can be used now.` },
  'number.failed': { title: 'Number order failed', text: (number: string, reason: string, refunded: string) => `${number} could not be activated: ${reason}. ${refunded} was refunded.` },
  'number.renewal_ahead': {
    title: 'Numbers renew soon',
    text: (count: number, total: string, available: string, at: string) =>
      `${count === 1 ? '1 number renews' : `${count} numbers renew`} for ${total} from ${at}; ${available} is available.`,
  },
  'number.renewal_failed': {
    title: 'Number renewal failed',
    text: (number: string, monthly: string, available: string, failures: number, again: string) =>
      `${monthly} for ${number} is not available (${available} is). Failure ${failures} of 3; tried again on ${again}. The third releases the number.`,
  },
  'number.released': { title: 'Number released', text: (number: string, reason: string) => `${number} was released: ${reason}.` },
  'fraud.cap_reached': { title: 'Daily fraud cap reached', text: (cap: string) => `Calls are refused until the next UTC day: ${cap} was spent today.` },
  'fraud.spend_jump': { title: 'Spend jumped', text: (spend: string, hour: string, average: string) => `${spend} was spent in the hour from ${hour}; the average hour of the week before was ${average}.` },
  'quality.low_asr': {
    title: 'Few calls are answered',
    text: (destination: string, asr: string, answered: number, attempts: number, date: string) =>
      `${destination}: ${asr} answered (${answered} of ${attempts} calls) on ${date}.`,
  },
  'allow_list.entry_removed': { title: 'Allow-list entry removed', text: (cidr: string, trunk: string) => `The operator removed ${cidr} from the trunk ${trunk}.` },
  'export.ready': { title: 'Export is ready', text: (rows: string, size: string, until: string) => `${rows} CDRs, ${size}. The file is kept until ${until}.` },
  'rates.changed': { title: 'Rates changed', text: (from: string, to: string) => `Rates of ${to} differ from those of ${from}.` },
  'vat.valid': { title: 'VAT id is valid', text: (id: string) => `${id} was confirmed.` },
  'vat.invalid': { title: 'VAT id is not valid', text: (id: string) => `${id} was not confirmed. Correct it, or upload VAT evidence.` },
  'kyb.approved': { title: 'Company verified', text: (note: string) => note || 'The documents of the company were approved.' },
  'kyb.rejected': { title: 'Company not verified', text: (note: string) => note || 'The documents of the company were rejected. Correct them and submit again.' },
  'compliance.more_info': { title: 'More documents needed', text: (note: string) => note || 'The reviewer needs more documents.' },
  'ticket.reply': { title: 'Reply to ticket', text: (subject: string) => subject },
  'account.suspended': { title: 'Account suspended', text: (reason: string) => reason || 'Calls and orders are refused. Open a ticket to ask why.' },
  'account.reinstated': { title: 'Account reinstated', text: () => 'The suspension was lifted.' },
  'webhook.disabled': {
    title: 'Webhook endpoint disabled',
    text: (url: string, gone: boolean) => (gone ? `${url} answered that it is gone (410).` : `No delivery to ${url} succeeded for five days.`),
  },
} as const;

export const reasons: Record<string, string> = {
  card_limit: 'the card paid too often or too much in 24 hours',
};
