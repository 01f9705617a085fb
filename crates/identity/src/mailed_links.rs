//! Table `link_tokens`: links sent by mail. A link works once, and a new one voids the older ones of its purpose.
//!
//! How many mails strangers can make the service send to an address is limited, see [`may_mail`].
//!
//! Only the hash of a token is stored. What a link does is with its users: `sessions` signs in, resets passwords and
//! verifies email addresses with them.

use std::time::Duration;

use api::context::RequestCtx;
use api::input::sha256;
use db::{Conn, DbError, Entropy, insert, params, row, sql};
use platform::app::App;
use platform::limits::{Limit, Subject};
use values::{Email, Time, UserId, text_enum};

text_enum! {
    pub enum LinkPurpose {
        Magic = "magic",
        Reset = "reset",
        Verify = "verify",
    }
}

impl LinkPurpose {
    const fn lifetime(self) -> Duration {
        match self {
            LinkPurpose::Magic | LinkPurpose::Verify => Duration::from_secs(72 * 3600),
            LinkPurpose::Reset => Duration::from_secs(3600),
        }
    }

    /// The page that uses the link.
    const fn page(self) -> &'static str {
        match self {
            LinkPurpose::Magic => "magic-link",
            LinkPurpose::Reset => "reset-password",
            LinkPurpose::Verify => "verify-email",
        }
    }
}

/// A link to send, and when it expires.
pub struct MailedLink {
    pub url: String,
    pub expires_at: Time,
}

/// Creates a link and voids the user's older ones of the same purpose.
///
/// Its page uses the token with a POST: mail scanners open links, so a GET must not use it. The token is after `#`,
/// which browsers do not send, so it reaches no log.
pub async fn issue(conn: &mut Conn, app: &App, user: UserId, purpose: LinkPurpose) -> Result<MailedLink, DbError> {
    let token = Entropy.token();
    let expires_at = conn.now().plus(purpose.lifetime());
    void(conn, user, purpose).await?;
    let token_hash = sha256(token.as_bytes());
    insert!(conn, link_tokens { token_hash: &token_hash[..], purpose, user_id: user, expires_at }).await?;
    Ok(MailedLink { url: format!("{}/{}#token={token}", app.public_url, purpose.page()), expires_at })
}

/// Creates a link that signs its user in.
pub async fn issue_magic_link(conn: &mut Conn, app: &App, user: UserId) -> Result<MailedLink, DbError> {
    issue(conn, app, user, LinkPurpose::Magic).await
}

/// Mails that anyone can request for an address. Each kind is counted apart: a stranger who uses up the reset links of
/// an hour has sent the owner one that works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailKind {
    Reset,
    Signup,
    Invitation,
}

impl MailKind {
    pub fn subject(self, email: &Email) -> Subject {
        let kind = match self {
            MailKind::Reset => "reset",
            MailKind::Signup => "signup",
            MailKind::Invitation => "invitation",
        };
        Subject::mails(email, kind)
    }
}

/// Counts a mail to this address; false when it got enough of the kind in this hour. The caller then answers as if the
/// mail were sent.
pub async fn may_mail(ctx: &RequestCtx, kind: MailKind, email: &Email) -> Result<bool, DbError> {
    let status = ctx.app.limits.take(Limit::Mails, kind.subject(email), ctx.now).await?;
    Ok(status.is_none_or(|status| status.allowed))
}

row! {
    pub struct Link {
        pub user_id: UserId,
        pub expires_at: Time,
        pub used_at: Option<Time>,
    }
}

pub async fn find(conn: &mut Conn, hash: &[u8], purpose: LinkPurpose) -> Result<Option<Link>, DbError> {
    conn.opt(
        sql!("SELECT ", Link::COLS, " FROM link_tokens WHERE token_hash = $1 AND purpose = $2"),
        params![hash, purpose],
    )
    .await
}

/// Marks a link as used; false when it was used before.
pub async fn mark_used(conn: &mut Conn, hash: &[u8], purpose: LinkPurpose) -> Result<bool, DbError> {
    let now = conn.now();
    let spent = conn
        .exec(
            sql!("UPDATE link_tokens SET used_at = $3 WHERE token_hash = $1 AND purpose = $2 AND used_at IS NULL"),
            params![hash, purpose, now],
        )
        .await?;
    Ok(spent == 1)
}

async fn void(conn: &mut Conn, user: UserId, purpose: LinkPurpose) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE link_tokens SET used_at = $3 WHERE user_id = $1 AND purpose = $2 AND used_at IS NULL"),
        params![user, purpose, conn.now()],
    )
    .await?;
    Ok(())
}

/// Whether a user has a link that can be used.
pub async fn is_any_live(conn: &mut Conn, user: UserId) -> Result<bool, DbError> {
    let found: Option<(Time,)> = conn
        .opt(
            sql!(
                "SELECT expires_at FROM link_tokens
                 WHERE user_id = $1 AND used_at IS NULL AND expires_at > $2 LIMIT 1"
            ),
            params![user, conn.now()],
        )
        .await?;
    Ok(found.is_some())
}

/// Voids all links of a user, whatever their purpose.
pub async fn void_all(conn: &mut Conn, user: UserId) -> Result<(), DbError> {
    for purpose in LinkPurpose::ALL.iter().copied() {
        void(conn, user, purpose).await?;
    }
    Ok(())
}

/// Deletes links that expired before `cutoff`, oldest first.
pub async fn purge(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "DELETE FROM link_tokens WHERE token_hash IN
                 (SELECT token_hash FROM link_tokens WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)"
        ),
        params![cutoff, batch],
    )
    .await
}
