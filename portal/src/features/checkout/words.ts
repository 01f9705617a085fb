// The texts of the sandbox checkout.

export const words = {
  topup: (amount: string) => `Top up by ${amount}`,
  card: 'Save a card',
  plain: 'Checkout',
  merchant: (name: string) => `Payment to ${name}`,
  sandbox: 'This is a sandbox',
  sandboxText: 'No money is charged. Do not enter a real card number.',
  number: 'Card number',
  numberHint: 'Choose a test card below, or type one.',
  cards: 'Test cards',
  pay: (amount: string) => `Pay ${amount}`,
  verify: 'Save card',
  cancel: 'Cancel and go back',
  back: 'Go back',
  outcome: {
    topup: {
      completed: 'This is paid.',
      failed: 'The card was declined.',
      cancelled: 'This checkout was closed without a payment.',
    },
    card: {
      completed: 'The card was accepted.',
      failed: 'The card was declined.',
      cancelled: 'This checkout was closed without a card.',
    },
  },
  bank: {
    title: 'As the bank of the card',
    hint: 'What a bank could do with this payment. A dispute freezes the amount at once; the decision is final.',
    dispute: 'Dispute this payment',
    win: 'Decide for the merchant',
    lose: 'Take the payment back',
  },
  missing: 'There is no such checkout',
  missingText: 'It may have expired. Start again from the portal.',
  home: 'Go to the portal',
} as const;
