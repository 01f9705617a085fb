//! Invitations of users by mail, and what becomes of an address that was invited.

use crate::accounts;
use crate::mailed_links;
use crate::users;
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

/// Whose an address is.
pub enum Address {
    /// A user's, or nobody's.
    Other,
    /// Somebody's who was invited and has now been mailed the invitation again, with the name of the company.
    Invited,
    /// Nobody's any more: an invitation to it has expired.
    Released,
}

/// Looks at an address that somebody claims by a signup or a password reset. An invitation must not lead its owner into
/// the account of a company that it does not know, nor keep the address for ever.
pub async fn claim_address(conn: &mut Conn, app: &App, email: &Email, may_mail: bool) -> Result<Address, DbError> {
    let Some(user) = users::find_invited(conn, email).await? else { return Ok(Address::Other) };
    if mailed_links::is_any_live(conn, user.id).await? {
        if may_mail {
            send(conn, app, user.account_id, user.id, &Recipient::unnamed(&user.email)).await?;
        }
        return Ok(Address::Invited);
    }
    users::give_up_address(conn, &user).await?;
    Ok(Address::Released)
}
