// What a notification says and where it leads.
import type { Schema } from '$api';
import { bytes, count, dateTime, day, money, percent, phone } from '$format';
import { reasons, texts } from './words';

export type Notification = Schema<'Notification'>;
export type Description = { title: string; text: string; href?: string };

const because = (reason: string | null) => (reason ? `: ${reasons[reason] ?? reason}` : '');

function sentence(one: Notification): string {
  switch (one.code) {
    case 'balance.low': return texts[one.code].text(money(one.payload.balance), money(one.payload.threshold));
    case 'balance.exhausted': return texts[one.code].text(money(one.payload.balance));
    case 'topup.completed': return texts[one.code].text(money(one.payload.amount), money(one.payload.balance_after));
    case 'topup.failed': return texts[one.code].text(money(one.payload.amount), because(one.payload.reason));
    case 'recharge.failed': return texts[one.code].text(money(one.payload.amount), because(one.payload.reason), one.payload.disabled);
    case 'payment.disputed': return texts[one.code].text(money(one.payload.amount), money(one.payload.balance_after), one.payload.auto_recharge_disabled);
    case 'payment.dispute_won': return texts[one.code].text(money(one.payload.amount), money(one.payload.balance_after));
    case 'payment.dispute_lost': return texts[one.code].text(money(one.payload.amount), money(one.payload.balance_after));
    case 'invoice.issued': return texts[one.code].text(one.payload.number, money(one.payload.total), day(one.payload.due_date));
    case 'number.active': return texts[one.code].text(phone(one.payload.e164));
    case 'number.failed': return texts[one.code].text(phone(one.payload.e164), one.payload.reason, money(one.payload.refunded));
    case 'number.renewal_ahead': return texts[one.code].text(one.payload.numbers, money(one.payload.total), money(one.payload.available), dateTime(one.payload.first_renewal_at));
    case 'number.renewal_failed': return texts[one.code].text(phone(one.payload.e164), money(one.payload.monthly), money(one.payload.available), one.payload.failures, dateTime(one.payload.again_at));
    case 'number.released': return texts[one.code].text(phone(one.payload.e164), one.payload.reason);
    case 'fraud.cap_reached': return texts[one.code].text(money(one.payload.max_spend_per_day));
    case 'fraud.spend_jump': return texts[one.code].text(money(one.payload.spend), dateTime(one.payload.hour), money(one.payload.average));
    case 'quality.low_asr': return texts[one.code].text(one.payload.destination_name, percent(one.payload.asr), one.payload.answered, one.payload.attempts, day(one.payload.date));
    case 'allow_list.entry_removed': return texts[one.code].text(one.payload.cidr, one.payload.trunk_name);
    case 'export.ready': return texts[one.code].text(count(one.payload.rows_count), bytes(one.payload.size_bytes), dateTime(one.payload.expires_at));
    case 'rates.changed': return texts[one.code].text(dateTime(one.payload.from), dateTime(one.payload.to));
    case 'vat.valid': return texts[one.code].text(one.payload.vat_id);
    case 'vat.invalid': return texts[one.code].text(one.payload.vat_id);
    case 'kyb.approved': return texts[one.code].text(one.payload.note ?? '');
    case 'kyb.rejected': return texts[one.code].text(one.payload.note ?? '');
    case 'compliance.more_info': return texts[one.code].text(one.payload.note ?? '');
    case 'ticket.reply': return texts[one.code].text(one.payload.subject);
    case 'account.suspended': return texts[one.code].text(one.payload.reason ?? '');
    case 'account.reinstated': return texts[one.code].text();
    case 'webhook.disabled': return texts[one.code].text(one.payload.url, one.payload.reason === 'gone');
  }
}

function target(one: Notification): string | undefined {
  switch (one.code) {
    case 'balance.low':
    case 'balance.exhausted': return '/billing';
    case 'topup.completed':
    case 'topup.failed':
    case 'payment.disputed':
    case 'payment.dispute_won':
    case 'payment.dispute_lost': return `/billing/topups/${one.payload.topup_id}`;
    case 'recharge.failed': return '/billing/auto-recharge';
    case 'invoice.issued': return `/billing/invoices/${one.payload.invoice_id}`;
    case 'number.active':
    case 'number.renewal_failed': return `/numbers/${one.payload.number_id}`;
    case 'number.failed': return `/numbers/orders/${one.payload.order_id}`;
    case 'number.renewal_ahead':
    case 'number.released': return '/numbers';
    case 'fraud.cap_reached': return '/settings/limits';
    case 'fraud.spend_jump': return `/calls?from=${encodeURIComponent(one.payload.hour)}`;
    case 'quality.low_asr': return '/usage';
    case 'allow_list.entry_removed': return `/trunks/${one.payload.trunk_id}`;
    case 'export.ready': return '/calls/exports';
    case 'rates.changed': return `/rates/notices/${one.payload.price_notice_id}`;
    case 'vat.valid':
    case 'vat.invalid': return '/settings/vat';
    case 'kyb.approved':
    case 'kyb.rejected': return '/onboarding';
    case 'compliance.more_info': return `/documents/${one.payload.intake_id}`;
    case 'ticket.reply': return `/support/${one.payload.ticket_id}`;
    case 'account.suspended': return '/support/new';
    case 'account.reinstated': return '/';
    case 'webhook.disabled': return `/settings/webhooks/${one.payload.webhook_endpoint_id}`;
  }
}

/** A code that this portal does not know yet is shown by its name. */
export function describe(one: Notification): Description {
  const known = texts[one.code] as { title: string } | undefined;
  return known ? { title: known.title, text: sentence(one), href: target(one) } : { title: one.code, text: '' };
}
