//! Urgent notifications that also go by mail, and `/me/notification-preferences`, where a user chooses which it gets.
//!
//! A mail goes to every active user of the account who wants it, which is the default, and to the account's contact if
//! that is no user.

mod store;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NotificationCode;
use crate::accounts;
use api::answer::Json;
use api::checks::{Checked, Checks, Given, must};
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::Body;
use api::problem::Problem;
use db::{Conn, DbError};
use platform::app::App;
use platform::mail::{self, Attachment, MailTemplate, Recipient};
use values::{AccountId, Email, UserId, text_enum};

text_enum! {
    /// Code of a notification that also goes by mail.
    pub enum MailedCode {
        BalanceExhausted = "balance.exhausted",
        FraudCapReached = "fraud.cap_reached",
        SpendJump = "fraud.spend_jump",
        InvoiceIssued = "invoice.issued",
        NumberReleased = "number.released",
        RatesChanged = "rates.changed",
    }
}

impl MailedCode {
    fn of(code: NotificationCode) -> Option<MailedCode> {
        MailedCode::ALL.iter().copied().find(|mailed| mailed.as_str() == code.as_str())
    }
}

/// Whether a user gets the mails of one code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotificationPreference {
    /// Code of the notification.
    pub code: MailedCode,
    /// Whether the user gets it by mail too.
    pub mail: bool,
}

/// Which notifications a user gets by mail.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NotificationPreferences {
    /// Every code that is mailed, and whether the user gets it.
    pub data: Vec<NotificationPreference>,
}

/// The mails that a user wants.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotificationPreferencesSet {
    /// Codes, each at most once; a code that is left out is mailed.
    #[schemars(length(max = 50))]
    pub data: Vec<NotificationPreference>,
}

impl Checks for NotificationPreferencesSet {
    fn check(given: &Given<'_>) {
        given.check("data", |data: Vec<NotificationPreference>| {
            let is_once =
                |one: &NotificationPreference| data.iter().filter(|other| other.code == one.code).count() == 1;
            must(data.iter().all(is_once), "must have each code at most once")
        });
    }
}

pub async fn preferences(mut ctx: ReadCtx) -> Result<Json<NotificationPreferences>, Problem> {
    let user = ctx.principal()?.user_id;
    Ok(Json(of_user(&mut ctx, user).await?))
}

pub async fn set_preferences(
    ctx: RequestCtx,
    Body(Checked(request)): Body<Checked<NotificationPreferencesSet>>,
) -> Result<Committed<Json<NotificationPreferences>>, Problem> {
    let user = ctx.principal()?.user_id;
    ctx.commit((user, request), |tx, (user, request)| {
        Box::pin(async move {
            let current = of_user(tx, *user).await?;
            tx.expect_version(&current)?;
            for code in MailedCode::ALL {
                let given = request.data.iter().find(|preference| preference.code == *code);
                store::set(tx, *user, *code, given.is_none_or(|preference| preference.mail)).await?;
            }
            Ok(Json(of_user(tx, *user).await?))
        })
    })
    .await
}

async fn of_user(conn: &mut Conn, user: UserId) -> Result<NotificationPreferences, DbError> {
    let unwanted = store::unwanted(conn, user).await?;
    let data =
        MailedCode::ALL.iter().map(|code| NotificationPreference { code: *code, mail: !unwanted.contains(code) });
    Ok(NotificationPreferences { data: data.collect() })
}

/// Mails a notification to those who want it; call it beside [`notify`](super::notify), in the same transaction.
pub async fn send_mail(
    conn: &mut Conn,
    app: &App,
    account: AccountId,
    code: NotificationCode,
    mail: &(impl MailTemplate + Sync),
) -> Result<(), DbError> {
    send_mail_with(conn, app, account, code, mail, &[]).await.map(drop)
}

/// The same with files; returns who gets it.
pub async fn send_mail_with(
    conn: &mut Conn,
    app: &App,
    account: AccountId,
    code: NotificationCode,
    mail: &(impl MailTemplate + Sync),
    attachments: &[Attachment],
) -> Result<Vec<Email>, DbError> {
    let code = MailedCode::of(code).ok_or_else(|| DbError::other(format!("{code} has no preference")))?;
    let recipients = recipients(conn, account, code).await?;
    for to in &recipients {
        mail::send_with(conn, app, to, mail, attachments).await?;
    }
    Ok(recipients.into_iter().map(|to| to.email).collect())
}

async fn recipients(conn: &mut Conn, account: AccountId, code: MailedCode) -> Result<Vec<Recipient>, DbError> {
    let users = store::users(conn, account, code).await?;
    let mut recipients: Vec<Recipient> =
        users.iter().filter(|user| user.is_wanted).map(|user| Recipient::new(&user.email, &user.name)).collect();
    let contact = accounts::contact(conn, account).await?;
    let is_user = |email| users.iter().any(|user| user.email == email);
    if let Some(contact) = contact.filter(|contact| !is_user(contact.contact_email.clone())) {
        recipients.push(Recipient::new(&contact.contact_email, &contact.contact_name));
    }
    Ok(recipients)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_that_is_mailed_is_that_of_a_notification() {
        let found = NotificationCode::ALL.iter().filter_map(|code| MailedCode::of(*code)).count();
        assert_eq!(found, MailedCode::ALL.len());
    }
}
