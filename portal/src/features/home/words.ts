import { plural } from '$format';

export const words = {
  title: 'Home',
  welcome: (company: string) => `Welcome, ${company}`,
  welcomeLead: 'A few steps until your first call. Complete them in any order; each is saved at once.',
  topUp: 'Top up',
  order: 'Order a number',

  figures: {
    balance: 'Balance',
    available: (amount: string) => `${amount} available`,
    today: 'Spent on calls today',
    todayHint: (calls: number, minutes: number) => `${plural(calls, 'call')}, ${plural(minutes, 'minute')} (UTC day)`,
    live: 'Live calls',
    liveHint: (peak: string) => `Peak today: ${peak}`,
    asr: 'ASR, 24 hours',
    asrWeek: (value: string) => `7 days: ${value}`,
    acd: 'ACD, 24 hours',
    none: '–',
  },

  channels: {
    title: 'Live calls against channels',
    hint: 'By zone, every five seconds.',
    link: 'Show live calls',
    empty: 'No zones',
  },

  destinations: {
    title: 'Where your calls go today',
    hint: 'Charges of the current UTC day.',
    link: 'Show usage',
    unknown: 'Without a rate',
    inbound: 'Calls to your numbers',
    empty: 'No calls today',
    emptyText: 'Calls show up here as soon as they are over.',
    simulate: 'Simulate a call',
    text: (charge: string, calls: number) => `${charge}, ${plural(calls, 'call')}`,
  },

  attention: {
    title: 'Needs attention',
    suspended: {
      title: 'Your account is suspended',
      text: 'Calls and orders are refused. You can read, top up and write to support.',
      action: 'Write to support',
    },
    email: {
      title: 'Your email address is not verified',
      text: (email: string) => `Open the link in the mail to ${email}.`,
      action: 'Send the link again',
      sent: 'The link is sent. It works for 72 hours; earlier links do not work any more.',
    },
    firstTopup: {
      title: 'Make a first top-up',
      text: 'It makes your account live: calls and numbers are paid from the balance.',
      action: 'Top up',
    },
    exhausted: {
      title: 'Nothing is available on the balance',
      text: 'Calls and orders are refused until you top up.',
      action: 'Top up',
    },
    low: {
      title: 'The balance is low',
      text: (amount: string) => `It is below ${amount}.`,
      action: 'Top up',
    },
    runway: {
      title: 'The balance lasts for less than three days',
      text: (when: string) => `At the pace of the last 7 days nothing is left on ${when}.`,
      action: 'Top up',
    },
    noTrunk: {
      title: 'Create a trunk',
      text: 'A trunk connects your PBX. Calls need one.',
      action: 'Create trunk',
    },
    kyb: {
      title: 'The documents of your company need attention',
      text: 'The reviewer has asked for more.',
      action: 'Open onboarding',
    },
    documents: {
      title: 'A number order waits for documents',
      text: 'The number is activated once they are approved.',
      action: 'Upload documents',
    },
    moreDocuments: {
      title: 'Documents were rejected',
      text: 'The reviewer has asked for more.',
      action: 'View documents',
    },
    webhookFailing: {
      title: 'A webhook endpoint is failing',
      text: (url: string, since: string) => `${url} has not accepted a delivery since ${since}.`,
      action: 'View deliveries',
    },
    webhookDisabled: {
      title: 'A webhook endpoint was disabled',
      text: (url: string) => `${url} gets no events until it is enabled again.`,
      action: 'View endpoint',
    },
    capReached: {
      title: 'The daily spend cap is reached',
      text: (spent: string, cap: string) => `${spent} of ${cap} are spent. Further calls are refused until midnight UTC.`,
      action: 'Change limits',
    },
    capNear: {
      title: 'The daily spend cap is near',
      text: (spent: string, cap: string) => `${spent} of ${cap} are spent today. Beyond it, calls are refused.`,
      action: 'Change limits',
    },
    quota: {
      title: (zone: string) => `Nearly all channels in ${zone} are in use`,
      text: (used: string, limit: string) => `${used} of ${limit}. Beyond it, calls are refused. Ask support for more.`,
      action: 'Write to support',
    },
    notification: 'View',
    allNotifications: 'All notifications',
  },
} as const;
