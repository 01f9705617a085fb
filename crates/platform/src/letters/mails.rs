//! Every mail the service writes: what it carries, what its subject says, and a sample for the preview.

use std::net::{IpAddr, Ipv4Addr};

use askama::Template;

use super::list::{Sample, mails};
use super::{Addressee, Draft, Letterhead, Mail, Moment};
use values::{Currency, Money, Time};

/// What an intake's documents are for.
pub enum Papers {
    Company,
    NumberOrder,
}

mails! {
    /// The way back after a forgotten password.
    ResetPassword { link: String, expires_at: Moment }
    templates "en/reset_password.html", "en/reset_password.txt";
    subject |_, _| "Choose a new password".into();
    sample |head| ResetPassword { link: sample_link(head, "reset-password"), expires_at: SAMPLE_TIME };

    /// Somebody changed the password, we hope its owner.
    PasswordChanged { at: Moment, ip: IpAddr }
    templates "en/password_changed.html", "en/password_changed.txt";
    subject |_, _| "Your password was changed".into();
    sample |_| PasswordChanged { at: SAMPLE_TIME, ip: SAMPLE_IP };

    /// A refresh token came back that was spent long ago.
    SessionEnded { at: Moment, ip: IpAddr }
    templates "en/session_ended.html", "en/session_ended.txt";
    subject |_, _| "We ended one of your sessions".into();
    sample |_| SessionEnded { at: SAMPLE_TIME, ip: SAMPLE_IP };

    /// To a prospect that chose a password, and can go on at once.
    Welcome {}
    templates "en/welcome.html", "en/welcome.txt";
    subject |_, head| format!("Welcome to {}", head.product);
    sample |_| Welcome {};

    /// To a prospect that waits for the team.
    SignupReceived {}
    templates "en/signup_received.html", "en/signup_received.txt";
    subject |_, _| "We received your signup".into();
    sample |_| SignupReceived {};

    /// To the owner of an address that somebody signed up with again.
    KnownAddress {}
    templates "en/known_address.html", "en/known_address.txt";
    subject |_, _| "You have an account already".into();
    sample |_| KnownAddress {};

    /// The team let a prospect in.
    SignupApproved { link: String, expires_at: Moment, note: Option<String> }
    templates "en/signup_approved.html", "en/signup_approved.txt";
    subject |_, _| "Your account was approved".into();
    sample |head| SignupApproved {
        link: sample_link(head, "magic-link"),
        expires_at: SAMPLE_TIME,
        note: Some("Good to have you. Your traffic to the Netherlands fits us well.".into()),
    };

    /// The team did not.
    SignupDeclined { note: Option<String> }
    templates "en/signup_declined.html", "en/signup_declined.txt";
    subject |_, _| "About your signup".into();
    sample |_| SignupDeclined {
        note: Some("We do not carry calls to premium numbers.\nShould your plans change, write to us again.".into()),
    };

    /// The balance fell below what the account chose to hear of.
    BalanceLow { balance: Money, threshold: Money, threshold_pct: i64 }
    templates "en/balance_low.html", "en/balance_low.txt";
    subject |mail, _| format!("Your balance is low: {}", mail.balance);
    sample |_| BalanceLow { balance: euros(8740), threshold: euros(10_412), threshold_pct: 20 };

    /// There is nothing left to spend.
    BalanceExhausted { balance: Money }
    templates "en/balance_exhausted.html", "en/balance_exhausted.txt";
    subject |_, _| "Your balance is used up".into();
    sample |_| BalanceExhausted { balance: euros(0) };

    /// A card was declined so often that it is not charged any more.
    RechargeOff { amount: Money }
    templates "en/recharge_off.html", "en/recharge_off.txt";
    subject |_, _| "Auto-recharge was switched off".into();
    sample |_| RechargeOff { amount: euros(10_000) };

    /// A number could not be renewed, for want of money.
    RenewalFailed { number: String, monthly: Money, again_at: Moment, is_last: bool }
    templates "en/renewal_failed.html", "en/renewal_failed.txt";
    subject |mail, _| format!("We could not renew {}", mail.number);
    sample |_| RenewalFailed { number: "+31201234567".into(), monthly: euros(150), again_at: SAMPLE_TIME, is_last: true };

    /// A number went back to the stock, since it was not paid for.
    NumberReleased { number: String }
    templates "en/number_released.html", "en/number_released.txt";
    subject |mail, _| format!("{} was released", mail.number);
    sample |_| NumberReleased { number: "+31201234567".into() };

    /// Somebody raised what calls may cost, we hope the customer.
    FraudCapsRaised { spend_before: Money, spend: Money, rate_before: Money, rate: Money, at: Moment, ip: IpAddr }
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

    /// Documents were looked at and found good.
    DocumentsApproved { papers: Papers, note: Option<String> }
    templates "en/documents_approved.html", "en/documents_approved.txt";
    subject |_, _| "Your documents were approved".into();
    sample |_| DocumentsApproved { papers: Papers::Company, note: None };

    /// Documents were looked at and found wanting.
    DocumentsRejected { papers: Papers, note: Option<String> }
    templates "en/documents_rejected.html", "en/documents_rejected.txt";
    subject |_, _| "Your documents were not accepted".into();
    sample |_| DocumentsRejected {
        papers: Papers::NumberOrder,
        note: Some("The proof of address is older than three months.".into()),
    };

    /// Documents are missing, or cannot be read.
    DocumentsWanted { papers: Papers, note: Option<String> }
    templates "en/documents_wanted.html", "en/documents_wanted.txt";
    subject |_, _| "We need more documents".into();
    sample |_| DocumentsWanted {
        papers: Papers::Company,
        note: Some("Thank you, this is nearly complete:\n\n1. The passport cannot be read: a sharper copy, please.\n2. The extract of the register lacks its second page.".into()),
    };

    /// The team suspended an account.
    AccountSuspended { note: Option<String> }
    templates "en/account_suspended.html", "en/account_suspended.txt";
    subject |_, _| "Your account is suspended".into();
    sample |_| AccountSuspended { note: Some("Calls to premium numbers rose a hundredfold last night.".into()) };

    /// The team took that back.
    AccountReinstated {}
    templates "en/account_reinstated.html", "en/account_reinstated.txt";
    subject |_, _| "Your account is active again".into();
    sample |_| AccountReinstated {};

    /// The team answered a ticket.
    TicketReply { subject: String, body: String }
    templates "en/ticket_reply.html", "en/ticket_reply.txt";
    subject |_, _| "We answered your ticket".into();
    sample |_| TicketReply {
        subject: "Calls to Belgium fail".into(),
        body: "Thank you for telling us.\n\nOne of the carriers had a fault, and calls go another way since noon.".into(),
    };

    /// To a new member of the team.
    StaffInvited { link: String, expires_at: Moment }
    templates "en/staff_invited.html", "en/staff_invited.txt";
    subject |_, head| format!("Welcome to the team of {}", head.product);
    sample |head| StaffInvited { link: sample_link(head, "magic-link"), expires_at: SAMPLE_TIME };

    /// An admin took somebody's second factor away.
    SecondFactorReset { at: Moment }
    templates "en/second_factor_reset.html", "en/second_factor_reset.txt";
    subject |_, _| "Your second factor was reset".into();
    sample |_| SecondFactorReset { at: SAMPLE_TIME };
}

const SAMPLE_TIME: Moment = Moment(Time::from_seconds(1_794_751_500));
const SAMPLE_IP: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 24));

const fn euros(cents: i64) -> Money {
    Money::from_nanos(cents * 10_000_000, Currency::EUR)
}

fn sample_link(head: &Letterhead, page: &str) -> String {
    format!("{}/{page}#token=q3PZ0vT7mJd4xWc8RyN1sKf6uHb2LgA9eVoQiXtCzM5", head.public_url)
}
