//! Invitations of users by mail, and what becomes of an address that was invited.

use crate::accounts;
use crate::mailed_links;
use crate::users::{self, User};
use db::{Conn, DbError};
use platform::app::App;
use platform::mail::{self, ReadableTime, Recipient, UserInvited};
use values::{AccountId, Email, UserId};

/// Mails a user the link of its invitation.
pub async fn send(conn: &mut Conn, app: &App, account: AccountId, user: UserId, to: &Recipient) -> Result<(), DbError> {
    let company = company(conn, account).await?;
    let link = mailed_links::issue_magic_link(conn, app, user).await?;
    let mail = UserInvited { company, link: link.url, expires_at: ReadableTime(link.expires_at) };
    mail::send(conn, app, to, &mail).await
}

/// The name of a company, as far as a stranger may read it.
pub async fn company(conn: &mut Conn, account: AccountId) -> Result<String, DbError> {
    let account = accounts::find(conn, account).await?;
    Ok(account.and_then(|account| mail::safe_name(&account.company_name)).unwrap_or_else(|| "A customer".to_owned()))
}

/// The invitation of an address that was not accepted yet.
pub enum Invitation {
    None,
    /// Its link works, and was mailed again.
    Open,
    /// Its link has expired.
    Expired(User),
}

/// Looks for an invitation of an address that somebody signs up with or resets the password of, and mails an open one
/// again with the name of the company: it must not lead its owner into the account of a company that it does not know.
pub async fn remind(conn: &mut Conn, app: &App, email: &Email, may_mail: bool) -> Result<Invitation, DbError> {
    let Some(user) = users::find_invited(conn, email).await? else { return Ok(Invitation::None) };
    if !mailed_links::is_any_live(conn, user.id).await? {
        return Ok(Invitation::Expired(user));
    }
    if may_mail {
        send(conn, app, user.account_id, user.id, &Recipient::unnamed(&user.email)).await?;
    }
    Ok(Invitation::Open)
}
