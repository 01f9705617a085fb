//! Every mail that the service sends: its fields, its subject, and a sample for the preview and the tests.
//!
//! To add one, add an entry here and two templates in `crates/platform/mail/en/`. A template that uses a field its mail
//! does not have does not compile. Values are escaped in HTML.

mod define;
mod readable_time;
mod render;
#[cfg(test)]
mod tests;
mod wrap;

pub use readable_time::ReadableTime;
pub use render::{Attachment, Branding, MailTemplate};
pub(super) use render::{RenderedMail, Sample};

use std::net::{IpAddr, Ipv4Addr};

use askama::Template;

use super::Recipient;
use define::mails;
use values::{AccountRole, Currency, Money, Time};

/// What the team changed about how a user may sign in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum AccessChange {
    SignedOut,
    Deactivated,
    Reactivated,
    Roles,
}

/// What an owner of an account changed about one of its users.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum MembershipChange {
    Role(AccountRole),
    Deactivated,
    Reactivated,
    Removed,
}

/// The documents that were reviewed.
pub enum DocumentSet {
    Company,
    NumberOrder,
}

/// What the calls of a customer to a destination cost before and after a price change.
pub struct PriceLine {
    pub destination: String,
    pub before: Money,
    /// Absent if the destination is not sold any more.
    pub after: Option<Money>,
}

/// What became of a disputed payment.
#[derive(Clone, Copy)]
pub enum DisputeStage {
    /// The amount is frozen, and auto-recharge may have been turned off.
    Opened {
        recharge_off: bool,
    },
    Won,
    Lost,
}

/// What happened to the way a user signs in.
pub enum FactorChange {
    Enabled,
    Disabled,
    RecoveryCodesReplaced,
    RecoveryCodeUsed {
        left: i64,
    },
    PasskeyAdded {
        name: String,
    },
    PasskeyRemoved {
        name: String,
    },
    /// Somebody who knows the password, or has a session, entered wrong codes.
    WrongCodes,
}

impl FactorChange {
    const fn subject(&self) -> &'static str {
        match self {
            FactorChange::Enabled => "Two-factor authentication is on",
            FactorChange::Disabled => "Two-factor authentication is off",
            FactorChange::RecoveryCodesReplaced => "Your recovery codes were replaced",
            FactorChange::RecoveryCodeUsed { .. } => "A recovery code was used",
            FactorChange::PasskeyAdded { .. } => "A passkey was added to your account",
            FactorChange::PasskeyRemoved { .. } => "A passkey was removed from your account",
            FactorChange::WrongCodes => "Wrong codes were entered for your account",
        }
    }
}

mails! {
    /// To a user who asked to reset the password.
    ResetPassword { link: String, expires_at: ReadableTime }
    templates "en/reset_password.html", "en/reset_password.txt";
    subject |_, _| "Reset your password".into();
    sample |brand| ResetPassword { link: sample_link(brand, "reset-password"), expires_at: SAMPLE_TIME };

    /// After a password change, in case the user did not make it.
    PasswordChanged { at: ReadableTime, ip: IpAddr }
    templates "en/password_changed.html", "en/password_changed.txt";
    subject |_, _| "Your password was changed".into();
    sample |_| PasswordChanged { at: SAMPLE_TIME, ip: SAMPLE_IP };

    /// A sign-in from a device that the user has not used before.
    NewDevice { device: String, at: ReadableTime, ip: IpAddr }
    templates "en/new_device.html", "en/new_device.txt";
    subject |_, _| "New sign-in to your account".into();
    sample |_| NewDevice { device: "Firefox on Linux".into(), at: SAMPLE_TIME, ip: SAMPLE_IP };

    /// The team changed how a user may sign in.
    AccessChanged { change: AccessChange, at: ReadableTime }
    templates "en/access_changed.html", "en/access_changed.txt";
    subject |mail, _| match mail.change {
        AccessChange::SignedOut => "You were signed out".into(),
        AccessChange::Deactivated => "Your access was deactivated".into(),
        AccessChange::Reactivated => "Your access is active again".into(),
        AccessChange::Roles => "Your roles were changed".into(),
    };
    sample |_| AccessChanged { change: AccessChange::Deactivated, at: SAMPLE_TIME };

    /// To a user whom an owner of an account invited.
    UserInvited { company: String, link: String, expires_at: ReadableTime }
    templates "en/user_invited.html", "en/user_invited.txt";
    subject |_, brand| format!("You are invited to {}", brand.product);
    sample |brand| UserInvited {
        company: "Kanaal Contact BV".into(),
        link: sample_link(brand, "magic-link"),
        expires_at: SAMPLE_TIME,
    };

    /// An owner of an account invited an address that belongs to a user already.
    InvitationRefused { company: String }
    templates "en/invitation_refused.html", "en/invitation_refused.txt";
    subject |_, _| "You were invited, but already have an account".into();
    sample |_| InvitationRefused { company: "Kanaal Contact BV".into() };

    /// An owner of an account changed what one of its users may do.
    MembershipChanged { company: String, change: MembershipChange, at: ReadableTime }
    templates "en/membership_changed.html", "en/membership_changed.txt";
    subject |mail, _| match mail.change {
        MembershipChange::Role(_) => "Your role was changed".into(),
        MembershipChange::Deactivated => "Your access was deactivated".into(),
        MembershipChange::Reactivated => "Your access is active again".into(),
        MembershipChange::Removed => "You were removed from an account".into(),
    };
    sample |_| MembershipChanged {
        company: "Kanaal Contact BV".into(),
        change: MembershipChange::Role(AccountRole::Technical),
        at: SAMPLE_TIME,
    };

    /// An API key was made, in case the user did not make it.
    ApiKeyMade { name: String, prefix: String, scopes: String, at: ReadableTime, ip: IpAddr }
    templates "en/api_key_made.html", "en/api_key_made.txt";
    subject |_, _| "An API key was created".into();
    sample |_| ApiKeyMade {
        name: "Billing export".into(),
        prefix: "tl_live_4fGh2k".into(),
        scopes: "calls:read, billing:read".into(),
        at: SAMPLE_TIME,
        ip: SAMPLE_IP,
    };

    /// A spent refresh token was used again, so its session was revoked.
    SessionEnded { at: ReadableTime, ip: IpAddr }
    templates "en/session_ended.html", "en/session_ended.txt";
    subject |_, _| "We signed you out of a session".into();
    sample |_| SessionEnded { at: SAMPLE_TIME, ip: SAMPLE_IP };

    /// To a user who asked for another verification link.
    VerifyEmail { link: String, expires_at: ReadableTime }
    templates "en/verify_email.html", "en/verify_email.txt";
    subject |_, _| "Verify your email address".into();
    sample |brand| VerifyEmail { link: sample_link(brand, "verify-email"), expires_at: SAMPLE_TIME };

    /// The first use of a mailed link dropped the credentials that were set before.
    EmailVerified { at: ReadableTime, ip: IpAddr }
    templates "en/email_verified.html", "en/email_verified.txt";
    subject |_, _| "Your email address is confirmed".into();
    sample |_| EmailVerified { at: SAMPLE_TIME, ip: SAMPLE_IP };

    /// After a signup with a password: the prospect verifies its address and can sign in.
    Welcome { link: String, expires_at: ReadableTime }
    templates "en/welcome.html", "en/welcome.txt";
    subject |_, brand| format!("Welcome to {}", brand.product);
    sample |brand| Welcome { link: sample_link(brand, "verify-email"), expires_at: SAMPLE_TIME };

    /// After a signup without a password: the prospect waits for the team's approval.
    SignupReceived { link: String, expires_at: ReadableTime }
    templates "en/signup_received.html", "en/signup_received.txt";
    subject |_, brand| format!("We received your signup for {}", brand.product);
    sample |brand| SignupReceived { link: sample_link(brand, "verify-email"), expires_at: SAMPLE_TIME };

    /// Someone signed up with the email address of an existing user.
    AccountExists {}
    templates "en/account_exists.html", "en/account_exists.txt";
    subject |_, _| "You already have an account".into();
    sample |_| AccountExists {};

    /// The team approved a prospect.
    SignupApproved { link: String, expires_at: ReadableTime, note: Option<String> }
    templates "en/signup_approved.html", "en/signup_approved.txt";
    subject |_, brand| format!("Your {} account is approved", brand.product);
    sample |brand| SignupApproved {
        link: sample_link(brand, "magic-link"),
        expires_at: SAMPLE_TIME,
        note: Some("Welcome. We have good routes to the Netherlands for your traffic.".into()),
    };

    /// The team declined a prospect.
    SignupDeclined { note: Option<String> }
    templates "en/signup_declined.html", "en/signup_declined.txt";
    subject |_, brand| format!("Your {} signup", brand.product);
    sample |_| SignupDeclined {
        note: Some("We do not offer calls to premium numbers.\nIf your plans change, write to us again.".into()),
    };

    /// The balance fell below the account's alert threshold.
    BalanceLow { balance: Money, threshold: Money, threshold_pct: i64 }
    templates "en/balance_low.html", "en/balance_low.txt";
    subject |mail, _| format!("Low balance: {}", mail.balance);
    sample |_| BalanceLow { balance: euros(8740), threshold: euros(10_412), threshold_pct: 20 };

    /// The account has no funds available.
    BalanceExhausted { balance: Money }
    templates "en/balance_exhausted.html", "en/balance_exhausted.txt";
    subject |_, _| "Your balance has run out".into();
    sample |_| BalanceExhausted { balance: euros(0) };

    /// Auto-recharge was turned off after the saved card was declined repeatedly.
    RechargeOff { amount: Money }
    templates "en/recharge_off.html", "en/recharge_off.txt";
    subject |_, _| "Auto-recharge is turned off".into();
    sample |_| RechargeOff { amount: euros(10_000) };

    /// To a customer: a card's bank disputes a payment, or has decided.
    PaymentDispute { stage: DisputeStage, amount: Money, balance: Money }
    templates "en/payment_dispute.html", "en/payment_dispute.txt";
    subject |mail, _| match mail.stage {
        DisputeStage::Opened { .. } => format!("A payment of {} is disputed", mail.amount),
        DisputeStage::Won => format!("The disputed payment of {} stands", mail.amount),
        DisputeStage::Lost => format!("The disputed payment of {} was taken back", mail.amount),
    };
    sample |_| PaymentDispute {
        stage: DisputeStage::Opened { recharge_off: true },
        amount: euros(10_000),
        balance: euros(-2_500),
    };

    /// To the admins: the same.
    TeamDispute { stage: DisputeStage, company: String, amount: Money, balance: Money, dispute: String }
    templates "en/team_dispute.html", "en/team_dispute.txt";
    subject |mail, _| match mail.stage {
        DisputeStage::Opened { .. } => format!("Dispute about {} opened", mail.amount),
        DisputeStage::Won => format!("Dispute about {} won", mail.amount),
        DisputeStage::Lost => format!("Dispute about {} lost", mail.amount),
    };
    sample |_| TeamDispute {
        stage: DisputeStage::Opened { recharge_off: false },
        company: "Customer GmbH".into(),
        amount: euros(10_000),
        balance: euros(-2_500),
        dispute: "6f0c2a9e".into(),
    };

    /// The balance did not cover the renewal of a number.
    RenewalFailed { number: String, monthly: Money, again_at: ReadableTime, is_last: bool }
    templates "en/renewal_failed.html", "en/renewal_failed.txt";
    subject |mail, _| format!("Action required: {} could not be renewed", mail.number);
    sample |_| RenewalFailed {
        number: "+31201234567".into(),
        monthly: euros(150),
        again_at: SAMPLE_TIME,
        is_last: true,
    };

    /// A number was released because its renewal failed too often.
    NumberReleased { number: String }
    templates "en/number_released.html", "en/number_released.txt";
    subject |mail, _| format!("{} has been released", mail.number);
    sample |_| NumberReleased { number: "+31201234567".into() };

    /// The team removed a network from the allow-list of a trunk.
    NetworkRemoved { cidr: String, trunk: String }
    templates "en/network_removed.html", "en/network_removed.txt";
    subject |mail, _| format!("Calls from {} are no longer accepted", mail.cidr);
    sample |_| NetworkRemoved { cidr: "203.0.113.7/32".into(), trunk: "Amsterdam".into() };

    /// The account's fraud caps were raised, in case the customer did not do it.
    FraudCapsRaised { spend_before: Money, spend: Money, rate_before: Money, rate: Money, at: ReadableTime, ip: IpAddr }
    templates "en/fraud_caps_raised.html", "en/fraud_caps_raised.txt";
    subject |_, _| "Your fraud caps were raised".into();
    sample |_| FraudCapsRaised {
        spend_before: euros(5000),
        spend: euros(25_000),
        rate_before: euros(50),
        rate: euros(50),
        at: SAMPLE_TIME,
        ip: SAMPLE_IP,
    };

    /// The team approved an intake.
    DocumentsApproved { documents: DocumentSet, note: Option<String> }
    templates "en/documents_approved.html", "en/documents_approved.txt";
    subject |_, _| "Your documents are approved".into();
    sample |_| DocumentsApproved { documents: DocumentSet::Company, note: None };

    /// The team rejected an intake.
    DocumentsRejected { documents: DocumentSet, note: Option<String> }
    templates "en/documents_rejected.html", "en/documents_rejected.txt";
    subject |_, _| "Your documents were not approved".into();
    sample |_| DocumentsRejected {
        documents: DocumentSet::NumberOrder,
        note: Some("The proof of address is older than three months.".into()),
    };

    /// The team needs more documents, or better copies, to decide about an intake.
    DocumentsRequested { documents: DocumentSet, note: Option<String> }
    templates "en/documents_requested.html", "en/documents_requested.txt";
    subject |_, _| "Action required: we need more information".into();
    sample |_| DocumentsRequested {
        documents: DocumentSet::Company,
        note: Some(
            "Thank you, two things are missing:\n\n1. The passport cannot be read. Please upload a sharper copy.\n\
             2. The company registration lacks its second page."
                .into(),
        ),
    };

    /// The team suspended an account.
    AccountSuspended { note: Option<String> }
    templates "en/account_suspended.html", "en/account_suspended.txt";
    subject |_, _| "Your account has been suspended".into();
    sample |_| AccountSuspended { note: Some("Calls to premium numbers increased a hundredfold last night.".into()) };

    /// The team lifted a suspension.
    AccountReinstated {}
    templates "en/account_reinstated.html", "en/account_reinstated.txt";
    subject |_, _| "Your account is active again".into();
    sample |_| AccountReinstated {};

    /// The team replied to a ticket.
    TicketReply { subject: String, body: String }
    templates "en/ticket_reply.html", "en/ticket_reply.txt";
    subject |_, _| "New reply to your support ticket".into();
    sample |_| TicketReply {
        subject: "Calls to Belgium fail".into(),
        body: "Thank you for the report.\n\nAn upstream had an outage. Calls use another route since noon.".into(),
    };

    /// The daily spend of the fraud caps was reached.
    FraudCapReached { limit: Money }
    templates "en/fraud_cap_reached.html", "en/fraud_cap_reached.txt";
    subject |_, _| "Your calls are refused: a fraud cap was reached".into();
    sample |_| FraudCapReached { limit: euros(25_000) };

    /// The calls of an hour cost far more than usual.
    SpendJump { hour: ReadableTime, spend: Money, average: Money }
    templates "en/spend_jump.html", "en/spend_jump.txt";
    subject |mail, _| format!("Unusual spending: {} in one hour", mail.spend);
    sample |_| SpendJump { hour: SAMPLE_TIME, spend: euros(48_210), average: euros(1_340) };

    /// An invoice was issued; its PDF is attached.
    InvoiceIssued { number: String, total: Money, due_date: String }
    templates "en/invoice_issued.html", "en/invoice_issued.txt";
    subject |mail, _| format!("Invoice {}", mail.number);
    sample |_| InvoiceIssued { number: "2026-000123".into(), total: euros(36_310), due_date: "2026-12-15".into() };

    /// Prices of a customer change; the changes are attached, unless there are too many.
    RatesChanged {
        from: ReadableTime,
        to: ReadableTime,
        increased: i64,
        decreased: i64,
        added: i64,
        removed: i64,
        calls: i64,
        before: Money,
        after: Money,
        lines: Vec<PriceLine>,
        files: usize,
    }
    templates "en/rates_changed.html", "en/rates_changed.txt";
    subject |_, _| "Our rates change".into();
    sample |_| RatesChanged {
        from: SAMPLE_TIME,
        to: SAMPLE_TIME,
        increased: 124,
        decreased: 1_310,
        added: 2,
        removed: 0,
        calls: 48_210,
        before: euros(104_120),
        after: euros(98_770),
        lines: vec![
            PriceLine { destination: "Germany, mobile".into(), before: euros(61_200), after: Some(euros(54_410)) },
            PriceLine { destination: "Inmarsat".into(), before: euros(1_200), after: None },
        ],
        files: 2,
    };

    /// A webhook endpoint asked for no more events, or failed for too long. Its URL is shown without a scheme, as text.
    WebhookDisabled { endpoint: String, is_gone: bool }
    templates "en/webhook_disabled.html", "en/webhook_disabled.txt";
    subject |_, _| "A webhook endpoint was disabled".into();
    sample |_| WebhookDisabled { endpoint: "erp.example/webhooks/trunkline".into(), is_gone: false };

    /// To a new member of the team.
    StaffInvited { link: String, expires_at: ReadableTime }
    templates "en/staff_invited.html", "en/staff_invited.txt";
    subject |_, brand| format!("You have been added to the {} team", brand.product);
    sample |brand| StaffInvited { link: sample_link(brand, "magic-link"), expires_at: SAMPLE_TIME };

    /// An admin reset a user's second factor.
    SecondFactorReset { at: ReadableTime }
    templates "en/second_factor_reset.html", "en/second_factor_reset.txt";
    subject |_, _| "Your two-factor authentication was reset".into();
    sample |_| SecondFactorReset { at: SAMPLE_TIME };

    /// After every change of a second factor, and the use of a recovery code.
    SecondFactorChanged { change: FactorChange, at: ReadableTime, ip: IpAddr }
    templates "en/second_factor_changed.html", "en/second_factor_changed.txt";
    subject |mail, _| mail.change.subject().into();
    sample |_| SecondFactorChanged {
        change: FactorChange::RecoveryCodeUsed { left: 9 },
        at: SAMPLE_TIME,
        ip: SAMPLE_IP,
    };
}

const SAMPLE_TIME: ReadableTime = ReadableTime(Time::from_seconds(1_794_751_500));
const SAMPLE_IP: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 24));

const fn euros(cents: i64) -> Money {
    Money::from_nanos(cents * 10_000_000, Currency::EUR)
}

fn sample_link(brand: &Branding, page: &str) -> String {
    format!("{}/{page}#token=q3PZ0vT7mJd4xWc8RyN1sKf6uHb2LgA9eVoQiXtCzM5", brand.public_url)
}
