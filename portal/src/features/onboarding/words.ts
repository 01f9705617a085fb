import { count } from '$format';

export const words = {
  title: 'Onboarding',
  lead: 'Complete the steps in any order. Each is saved at once, so you can stop and continue later.',
  done: 'Done',
  todo: 'To do',
  waiting: 'In progress',
  attention: 'Needs attention',
  save: 'Save',
  edit: 'Edit',
  saved: 'Saved.',

  states: {
    beta_declined: {
      title: 'Your application was declined',
      text: 'The reason is in the mail that we sent you. Write to support if something has changed.',
    },
    suspended: {
      title: 'Your account is suspended',
      text: 'You can read, top up and write to support. Support tells you what is needed to have it reinstated.',
    },
    approved: {
      title: 'Your company is approved',
      text: 'You can top up, create trunks and order numbers.',
    },
    first_topup: {
      title: 'Your company is approved',
      text: 'The first top-up makes your account live.',
    },
    under_review: {
      title: 'Your documents are under review',
      text: 'You get a mail when the team has decided. There is nothing to do meanwhile.',
    },
    beta_approved: {
      title: 'You are in',
      text: 'Your application was accepted. Once the documents of your company are approved, you can make calls.',
    },
    beta_waitlist: {
      title: 'You are on the waitlist',
      text: 'Everything that we need is here. You get a mail when the team lets you in.',
    },
  },
  support: 'Write to support',
  topUp: 'Top up',
  home: 'Go to home',

  email: {
    title: 'Email address',
    verified: (email: string) => `${email} is verified.`,
    unverified: (email: string) => `Open the link in the mail to ${email}. Documents and card need a verified address.`,
    again: 'Send the link again',
    sent: 'The link is sent. It works for 72 hours; earlier links do not work any more.',
  },

  company: {
    title: 'Company',
    hint: 'The country decides about VAT and cannot change once the documents are submitted.',
    legalName: 'Legal name',
    contactEmail: 'Contact email',
    country: 'Country',
    tradingName: 'Trading name',
    tradingHint: 'If it differs from the legal name.',
    contactName: 'Contact person',
    contactPhone: 'Phone of the contact person',
    phoneHint: 'With country code, such as +31201234567.',
    address: 'Address and VAT id are in the company settings.',
    openSettings: 'Open company settings',
  },

  traffic: {
    title: 'Traffic profile',
    hint: 'What you plan to send. It helps us to reserve capacity; it is no commitment.',
    minutes: 'Minutes per month',
    countries: 'Countries that you call',
    addCountry: 'Add country',
    removeCountry: (name: string) => `Remove ${name}`,
    noCountries: 'No country yet.',
    types: 'Kinds of traffic',
    kinds: {
      conversational: { label: 'Conversations', hint: 'Calls between people.' },
      call_center: { label: 'Call center', hint: 'Agents call or are called.' },
      dialer: { label: 'Dialer', hint: 'Calls that a machine dials for agents.' },
      a2p: { label: 'Automated calls', hint: 'Calls of an application, such as codes and reminders.' },
      wholesale_transit: { label: 'Wholesale transit', hint: 'Calls of other operators.' },
      other: { label: 'Other', hint: 'Describe it in the notes.' },
    },
    notes: 'Notes',
    notesHint: 'Anything else that the team should know.',
    savedAt: 'Last saved',
    none: 'None',
  },

  kyb: {
    title: 'Documents of the company',
    states: {
      open: 'Upload every required document, then submit them for review.',
      submitted: 'The documents are submitted. You get a mail when the team has decided.',
      approved: 'The documents are approved.',
      rejected: 'The documents were rejected.',
    },
    moreInfo: 'The team needs more documents',
    rejectedBefore: 'Your last documents were rejected',
    rejectedHint: 'Upload them again, with what the reviewer asks for, and submit.',
    note: 'Note of the reviewer',
    documentReasons: 'Rejected documents',
    submit: 'Submit for review',
    resubmit: 'Submit again',
    missing: (kinds: string[]) => `Upload first: ${kinds.join(', ')}.`,
    submitted: 'The documents are submitted.',
  },

  card: {
    title: 'Card verification',
    hint: 'You enter the card at the payment provider. Nothing is charged.',
    none: 'No card was entered yet.',
    states: {
      pending_verification: 'A card verification was started and not finished. Start again to enter a card.',
      completing: 'The payment provider is checking the card. This takes a moment.',
      verified: 'The card is verified.',
      verification_failed: 'The card could not be verified. Try another one.',
    },
    brands: { visa: 'Visa', mastercard: 'Mastercard', amex: 'American Express', other: 'Card' },
    number: (brand: string, last4: string) => `${brand} ending in ${last4}`,
    expires: (month: number, year: number) => `expires ${String(month).padStart(2, '0')}/${year}`,
    start: 'Verify a card',
    again: 'Verify another card',
    notNow: 'A card is verified before the team decides. Later cards are added under Billing.',
  },

  waitlist: {
    title: 'Waitlist',
    joins: 'You join when card, documents and traffic profile are complete.',
    position: (position: number, total: number) => `Position ${count(position)} of ${count(total)}`,
    since: 'On the waitlist since',
    passed: 'You are past the waitlist.',
    declined: 'Your application was declined.',
  },
} as const;
