// The account as the form has it: plain text fields, empty for what is not there.
import type { Schema } from '$api';
import { country } from '$format';
import { words } from './words';

type Account = Schema<'Account'>;
type Address = Schema<'Address'>;
export type AddressDraft = { line1: string; line2: string; city: string; postal_code: string; country: string };
export type Draft = { name: string; locale: string; hasPostal: boolean; postal: AddressDraft; ownInvoice: boolean; invoice: AddressDraft };

function addressDraft(address: Address | null): AddressDraft {
  return {
    line1: address?.line1 ?? '',
    line2: address?.line2 ?? '',
    city: address?.city ?? '',
    postal_code: address?.postal_code ?? '',
    country: address?.country ?? '',
  };
}

export function draftOf(account: Account): Draft {
  return {
    name: account.company_name,
    locale: account.locale,
    hasPostal: account.postal_address !== null,
    postal: addressDraft(account.postal_address),
    ownInvoice: account.invoice_address !== null,
    invoice: addressDraft(account.invoice_address),
  };
}

function addressOf(draft: AddressDraft): Address {
  const { line1, line2, city, postal_code, country: code } = draft;
  return { line1, city, postal_code, country: code, ...(line2.trim() ? { line2 } : {}) };
}

export function updateOf(draft: Draft): Schema<'AccountUpdate'> {
  return {
    company_name: draft.name,
    locale: draft.locale,
    postal_address: draft.hasPostal ? addressOf(draft.postal) : null,
    invoice_address: draft.ownInvoice ? addressOf(draft.invoice) : null,
  };
}

const lines = (address: AddressDraft) =>
  [address.line1, address.line2, `${address.postal_code} ${address.city}`, country(address.country)].filter((line) => line.trim()).join('\n');

/** What a conflict shows, field by field. */
export function rowsOf(mine: Draft, theirs: Draft) {
  const text = words.company;
  const postal = (draft: Draft) => (draft.hasPostal ? lines(draft.postal) : '');
  const invoice = (draft: Draft) => (draft.ownInvoice ? lines(draft.invoice) : '');
  return [
    { label: text.name, mine: mine.name, theirs: theirs.name },
    { label: text.locale, mine: mine.locale, theirs: theirs.locale },
    { label: text.postal, mine: postal(mine), theirs: postal(theirs) },
    { label: text.invoice, mine: invoice(mine), theirs: invoice(theirs) },
  ];
}
