// The main menu. Every address here is a row of some feature's routes.
import Activity from '@lucide/svelte/icons/activity';
import Banknote from '@lucide/svelte/icons/banknote';
import Building2 from '@lucide/svelte/icons/building-2';
import Cable from '@lucide/svelte/icons/cable';
import ClipboardCheck from '@lucide/svelte/icons/clipboard-check';
import FileText from '@lucide/svelte/icons/file-text';
import Hash from '@lucide/svelte/icons/hash';
import House from '@lucide/svelte/icons/house';
import LifeBuoy from '@lucide/svelte/icons/life-buoy';
import Network from '@lucide/svelte/icons/network';
import Phone from '@lucide/svelte/icons/phone';
import Settings from '@lucide/svelte/icons/settings';
import Sun from '@lucide/svelte/icons/sunrise';
import Tags from '@lucide/svelte/icons/tags';
import Users from '@lucide/svelte/icons/users';
import Wallet from '@lucide/svelte/icons/wallet';
import type { Component } from 'svelte';
import type { Schema } from '$api';

export type Count = (inbox: Schema<'Inbox'>) => number;
export type Item = {
  label: string;
  href: string;
  /** Another address of the same screen. */
  also?: string;
  count?: Count;
};
export type Entry = Item & { icon: Component<{ size?: number | string }>; items?: Item[] };

export const customerMenu: Entry[] = [
  { label: 'Home', href: '/', icon: House },
  {
    label: 'Calls', href: '/calls', icon: Phone, items: [
      { label: 'History', href: '/calls' },
      { label: 'Live', href: '/calls/live' },
      { label: 'Usage', href: '/usage' },
      { label: 'Exports', href: '/calls/exports' },
      { label: 'Simulate', href: '/calls/simulate' },
    ],
  },
  {
    label: 'Rates', href: '/rates', icon: Tags, items: [
      { label: 'Prices', href: '/rates' },
      { label: 'Changes', href: '/rates/changes' },
      { label: 'Price notices', href: '/rates/notices' },
    ],
  },
  { label: 'Trunks', href: '/trunks', icon: Cable },
  {
    label: 'Numbers', href: '/numbers', icon: Hash, items: [
      { label: 'Mine', href: '/numbers' },
      { label: 'Order', href: '/numbers/order' },
      { label: 'Orders', href: '/numbers/orders' },
    ],
  },
  {
    label: 'Billing', href: '/billing', icon: Wallet, items: [
      { label: 'Balance', href: '/billing' },
      { label: 'Top-ups', href: '/billing/topups' },
      { label: 'Cards', href: '/billing/cards', also: '/billing/auto-recharge' },
      { label: 'Invoices', href: '/billing/invoices' },
    ],
  },
  { label: 'Documents', href: '/documents', icon: FileText },
  {
    label: 'Support', href: '/support', icon: LifeBuoy, items: [
      { label: 'Tickets', href: '/support' },
      { label: 'Call disputes', href: '/support/disputes' },
    ],
  },
  {
    label: 'Settings', href: '/settings/company', icon: Settings, items: [
      { label: 'Company', href: '/settings/company' },
      { label: 'VAT', href: '/settings/vat' },
      { label: 'Limits', href: '/settings/limits' },
      { label: 'People', href: '/settings/people' },
      { label: 'API keys', href: '/settings/api-keys' },
      { label: 'Webhooks', href: '/settings/webhooks' },
      { label: 'Events', href: '/settings/events' },
      { label: 'Notifications', href: '/settings/notifications' },
      { label: 'Security', href: '/settings/security' },
    ],
  },
];

export const teamMenu: Entry[] = [
  { label: 'Today', href: '/team', icon: Sun },
  {
    label: 'Traffic', href: '/team/calls/live', icon: Activity, items: [
      { label: 'Live', href: '/team/calls/live' },
      { label: 'Calls', href: '/team/calls' },
      { label: 'Reports', href: '/team/traffic' },
      { label: 'Exports', href: '/team/calls/exports' },
      { label: 'Suspense', href: '/team/suspense', count: (inbox) => inbox.suspense },
    ],
  },
  {
    label: 'Customers', href: '/team/customers', icon: Users, items: [
      { label: 'All', href: '/team/customers' },
      { label: 'Onboarding', href: '/team/onboarding' },
      { label: 'Waitlist', href: '/team/waitlist', count: (inbox) => inbox.waitlist },
      { label: 'Dunning', href: '/team/dunning', count: (inbox) => inbox.dunning },
    ],
  },
  { label: 'Reviews', href: '/team/reviews', icon: ClipboardCheck, count: (inbox) => inbox.kyb + inbox.intakes },
  {
    label: 'Network', href: '/team/upstreams', icon: Network, items: [
      { label: 'Upstreams', href: '/team/upstreams', count: (inbox) => inbox.upstreams_down + inbox.failed_imports + inbox.held_imports + inbox.deck_mails },
      { label: 'Rates', href: '/team/rates' },
      { label: 'Rate plans', href: '/team/plans' },
      { label: 'Price notices', href: '/team/price-notices' },
      { label: 'Routes', href: '/team/routes', count: (inbox) => inbox.open_breakers },
      { label: 'Routing policies', href: '/team/routes/policies' },
      { label: 'Number inventory', href: '/team/stock' },
      { label: 'Exchange rates', href: '/team/fx' },
    ],
  },
  {
    label: 'Money', href: '/team/payments', icon: Banknote, items: [
      { label: 'Payments', href: '/team/payments' },
      { label: 'Chargebacks', href: '/team/chargebacks' },
      { label: 'Invoices', href: '/team/invoices' },
      { label: 'Credits', href: '/team/credits' },
      { label: 'Margin', href: '/team/margin' },
    ],
  },
  {
    label: 'Support', href: '/team/tickets', icon: LifeBuoy, items: [
      { label: 'Tickets', href: '/team/tickets', count: (inbox) => inbox.tickets },
      { label: 'Call disputes', href: '/team/disputes' },
      { label: 'Notices', href: '/team/notices' },
    ],
  },
  {
    label: 'Operator', href: '/team/people', icon: Building2, items: [
      { label: 'Team', href: '/team/people' },
      { label: 'Account managers', href: '/team/managers' },
      { label: 'API keys', href: '/team/api-keys' },
      { label: 'Webhooks', href: '/team/webhooks' },
      { label: 'Events', href: '/team/events' },
      { label: 'Audit log', href: '/team/audit' },
      { label: 'Service', href: '/team/service', count: (inbox) => inbox.dead_jobs },
      { label: 'Security', href: '/team/security' },
    ],
  },
];

/** The address of the menu that is the longest beginning of where we are. */
export function activeHref(menu: Entry[], path: string): string | undefined {
  return menu
    .flatMap((entry): Item[] => [entry, ...(entry.items ?? [])])
    .flatMap(({ href, also }) => [{ at: href, href }, ...(also ? [{ at: also, href }] : [])])
    .filter(({ at }) => path === at || (at !== '/' && at !== '/team' && path.startsWith(`${at}/`)))
    .sort((a, b) => b.at.length - a.at.length)[0]?.href;
}
