import { list, read, stale, type ProblemError, type Schema } from '$api';
import { words } from './words';

const CARD_POLL_MS = 5000;

export type Progress = 'done' | 'todo' | 'waiting' | 'attention';

interface Reading<T> {
  data?: T;
  error?: ProblemError;
}

/** A resource that does not exist before its step is done answers 404; that is no problem here. */
export function absent(reading: Reading<unknown>): boolean {
  return reading.error?.status === 404;
}

/** Everything that the steps of onboarding show, and how far each is. Call at component init. */
export function onboardingSteps() {
  const me = read('/me', () => ({}));
  const account = read('/me/account', () => ({}));
  const profile = read('/me/traffic-profile', () => ({}));
  const kyb = read('/me/kyb', () => ({}));
  const card = read('/me/payment-method', () => ({}));
  const waitlist = read('/me/waitlist', () => ({}));
  const intakes = list('/compliance/intakes', () => ({}), { limit: 20 });

  // The payment provider decides about a card without an event.
  $effect(() => {
    if (card.data?.status !== 'completing' && card.data?.status !== 'pending_verification') return;
    const timer = setInterval(() => void card.refetch(), CARD_POLL_MS);
    return () => clearInterval(timer);
  });

  // The last step puts the account on the waitlist.
  const isCardVerified = $derived(card.data?.status === 'verified');
  $effect(() => {
    if (isCardVerified) stale('/me/account', '/me/waitlist');
  });

  const progress = $derived({
    email: (me.data?.user.email_verified_at ? 'done' : 'todo') as Progress,
    company: companyProgress(account.data),
    traffic: (profile.data ? 'done' : 'todo') as Progress,
    kyb: kybProgress(kyb.data, intakes.rows),
    card: cardProgress(card.data, account.data),
    waitlist: waitlistProgress(account.data),
  });

  return {
    me,
    account,
    profile,
    kyb,
    card,
    waitlist,
    intakes,
    get progress() {
      return progress;
    },
    /** The KYB intake that was rejected before the present one was opened. */
    get rejectedBefore() {
      return rejectedBefore(kyb.data, intakes.rows);
    },
    get banner() {
      return banner(account.data, me.data?.account.onboarding_status);
    },
  };
}

export type OnboardingSteps = ReturnType<typeof onboardingSteps>;

function companyProgress(account?: Schema<'MyAccountResponse'>): Progress {
  if (!account) return 'todo';
  return account.country !== 'ZZ' && account.contact_name && account.contact_phone ? 'done' : 'todo';
}

function kybProgress(kyb?: Schema<'ComplianceIntake'>, intakes: Schema<'Intake'>[] = []): Progress {
  if (!kyb) return 'todo';
  if (kyb.status === 'approved') return 'done';
  if (kyb.status === 'submitted') return 'waiting';
  return kyb.reviewer_note || rejectedBefore(kyb, intakes) ? 'attention' : 'todo';
}

function rejectedBefore(kyb?: Schema<'ComplianceIntake'>, intakes: Schema<'Intake'>[] = []): Schema<'Intake'> | undefined {
  if (kyb?.status !== 'open') return undefined;
  const newest = intakes.find((intake) => intake.purpose === 'kyb' && plainId(kyb.id) !== intake.id.replaceAll('-', ''));
  return newest?.status === 'rejected' ? newest : undefined;
}

function cardProgress(card?: Schema<'MyPaymentMethodResponse'>, account?: Schema<'MyAccountResponse'>): Progress {
  if (card?.status === 'verified') return 'done';
  if (card?.status === 'completing') return 'waiting';
  if (card?.status === 'verification_failed') return 'attention';
  return account && !takesCard(account.status) ? 'done' : 'todo';
}

/** Whether a card can still be verified: only before the account is on the waitlist or decided. */
export function takesCard(status: Schema<'AccountStatus'>): boolean {
  return status === 'beta_signup' || status === 'beta_card_pending';
}

function waitlistProgress(account?: Schema<'MyAccountResponse'>): Progress {
  switch (account?.status) {
    case 'beta_approved':
    case 'live':
      return 'done';
    case 'beta_waitlist':
      return 'waiting';
    case 'beta_declined':
      return 'attention';
    default:
      return 'todo';
  }
}

type Tone = 'info' | 'good' | 'warn' | 'bad';

function banner(account?: Schema<'MyAccountResponse'>, onboarding?: Schema<'OnboardingStatus'>) {
  const show = (tone: Tone, of: keyof typeof words.states) => ({ tone, of, ...words.states[of] });
  if (!account || !onboarding) return undefined;
  if (onboarding === 'suspended') return show('bad', 'suspended');
  if (account.status === 'beta_declined') return show('bad', 'beta_declined');
  if (onboarding === 'approved') return show('good', account.status === 'beta_approved' ? 'first_topup' : 'approved');
  if (account.status === 'beta_waitlist') return show('good', 'beta_waitlist');
  if (onboarding === 'under_review') return show('info', 'under_review');
  return account.status === 'beta_approved' ? show('good', 'beta_approved') : undefined;
}

/** The id without its prefix, as the compliance intakes have it. */
export function plainId(id: string): string {
  return id.replace(/^[a-z]+_/, '');
}
