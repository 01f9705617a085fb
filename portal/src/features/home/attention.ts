// What a customer should look at, most urgent first. Each entry names what to do.
import type { Schema } from '$api';
import { count, dateTime, money } from '$format';
import { SHORT_RUNWAY_DAYS } from '../billing/runway';
import { describe } from '../notifications/describe';
import { words } from './words';

export interface Item {
  key: string;
  tone: 'bad' | 'warn' | 'info';
  title: string;
  text: string;
  action: string;
  href?: string;
  /** Mails the verification link again instead of leading somewhere. */
  verify?: boolean;
}

export interface Facts {
  me?: Schema<'MeResponse'>;
  beta?: Schema<'MyAccountResponse'>;
  balance?: Schema<'Balance'>;
  caps?: Schema<'FraudCaps'>;
  today?: Schema<'CdrSummary'>;
  quotas?: Schema<'Quota'>[];
  intakes: Schema<'Intake'>[];
  webhooks: Schema<'WebhookEndpoint'>[];
  notifications: Schema<'Notification'>[];
  /** Undefined until it is known. */
  hasTrunks?: boolean;
}

const NEAR = 0.8;
const w = words.attention;
const TOPUP = '/billing/topups?new=1';

export function attention(facts: Facts): Item[] {
  const items = [
    ...account(facts),
    ...moneyItems(facts),
    ...limits(facts),
    ...documents(facts.intakes),
    ...webhooks(facts.webhooks),
    ...notified(facts.notifications),
  ];
  const rank = { bad: 0, warn: 1, info: 2 };
  return items.sort((a, b) => rank[a.tone] - rank[b.tone]);
}

function* account({ me, beta, hasTrunks }: Facts): Generator<Item> {
  const status = me?.account.onboarding_status;
  if (status === 'suspended') yield { key: 'suspended', tone: 'bad', ...w.suspended, href: '/support/new' };
  if (me && !me.user.email_verified_at) {
    yield { key: 'email', tone: 'warn', title: w.email.title, text: w.email.text(me.user.email), action: w.email.action, verify: true };
  }
  if (status !== 'approved') return;
  if (beta?.status === 'beta_approved') yield { key: 'topup', tone: 'info', ...w.firstTopup, href: TOPUP };
  if (hasTrunks === false) yield { key: 'trunk', tone: 'info', ...w.noTrunk, href: '/trunks?new=1' };
}

function* moneyItems({ balance, beta }: Facts): Generator<Item> {
  if (!balance || beta?.status !== 'live') return;
  if (balance.available.amount_minor <= 0) {
    yield { key: 'exhausted', tone: 'bad', ...w.exhausted, href: TOPUP };
  } else if (balance.current.amount_minor < balance.soft_warn_threshold.amount_minor) {
    yield { key: 'low', tone: 'warn', ...w.low, text: w.low.text(money(balance.soft_warn_threshold)), href: TOPUP };
  } else if (balance.runway && balance.runway.days < SHORT_RUNWAY_DAYS) {
    yield { key: 'runway', tone: 'warn', ...w.runway, text: w.runway.text(dateTime(balance.runway.empty_at)), href: TOPUP };
  }
}

function* limits({ caps, today, quotas }: Facts): Generator<Item> {
  if (caps && today) {
    const cap = caps.max_spend_per_day;
    const share = today.totals.charge.amount_minor / cap.amount_minor;
    const href = '/settings/limits';
    const told = [money(today.totals.charge), money(cap)] as const;
    if (share >= 1) yield { key: 'cap', tone: 'bad', ...w.capReached, text: w.capReached.text(...told), href };
    else if (share >= NEAR) yield { key: 'cap', tone: 'warn', ...w.capNear, text: w.capNear.text(...told), href };
  }
  for (const { zone, in_use, limit } of quotas ?? []) {
    if (in_use < limit * NEAR || in_use === 0) continue;
    const text = w.quota.text(count(in_use), count(limit));
    yield { key: `quota-${zone}`, tone: 'warn', title: w.quota.title(zone), text, action: w.quota.action, href: '/support/new' };
  }
}

function* documents(intakes: Schema<'Intake'>[]): Generator<Item> {
  for (const { id, purpose, status, reviewer_note: note } of intakes) {
    const isReturned = status === 'more_info_requested';
    if (!isReturned && status !== 'draft') continue;
    const key = `intake-${id}`;
    // An approved account has no open review of its company unless the team has asked for more.
    if (purpose === 'kyb') {
      if (isReturned) yield { key, tone: 'warn', ...w.kyb, text: note ?? w.kyb.text, href: '/onboarding' };
    } else if (isReturned) {
      yield { key, tone: 'warn', ...w.moreDocuments, text: note ?? w.moreDocuments.text, href: `/documents/${id}` };
    } else {
      yield { key, tone: 'info', ...w.documents, href: `/documents/${id}` };
    }
  }
}

function* webhooks(endpoints: Schema<'WebhookEndpoint'>[]): Generator<Item> {
  for (const { id, url, disabled_reason, failing_since } of endpoints) {
    const [key, href] = [`webhook-${id}`, `/settings/webhooks/${id}`];
    if (disabled_reason) yield { key, tone: 'warn', ...w.webhookDisabled, text: w.webhookDisabled.text(url), href };
    else if (failing_since) {
      yield { key, tone: 'warn', ...w.webhookFailing, text: w.webhookFailing.text(url, dateTime(failing_since)), href };
    }
  }
}

// What the figures above already tell is not told twice.
const TOLD_ABOVE = ['balance.low', 'balance.exhausted', 'fraud.cap_reached', 'account.suspended', 'webhook.disabled', 'compliance.more_info', 'kyb.rejected'];
const MOST_NOTIFICATIONS = 3;

function* notified(unread: Schema<'Notification'>[]): Generator<Item> {
  const urgent = unread.filter((one) => one.severity !== 'info' && !TOLD_ABOVE.includes(one.code));
  for (const one of urgent.slice(0, MOST_NOTIFICATIONS)) {
    const { title, text, href } = describe(one);
    yield { key: one.id, tone: one.severity === 'critical' ? 'bad' : 'warn', title, text, action: w.notification, href: href ?? '/notifications' };
  }
}
