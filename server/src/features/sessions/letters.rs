//! What users are told by mail about their sign-in.

use crate::app::App;
use crate::db::{Conn, DbError};
use crate::features::letters::{Draft, send};
use crate::features::users::User;
use crate::http::call::Call;
use crate::values::Time;

/// The page that spends the token, by a POST of its own: mail scanners open links, so opening must not spend. What
/// stands after `#` stays in the browser and reaches no log.
pub fn link(app: &App, page: &str, token: &str) -> String {
    format!("{}/{page}#token={token}", app.public_url)
}

pub async fn reset_link(conn: &mut Conn, app: &App, user: &User, token: &str, now: Time) -> Result<(), DbError> {
    let text = format!(
        "Hello {},\n\nsomebody, probably you, asked for a new password for {}.\n\n\
         Choose it here within one hour:\n\n{}\n\n\
         If it was not you, do nothing: your password stays as it is.\n",
        user.name,
        user.email,
        link(app, "reset-password", token),
    );
    let draft = Draft { to: user.email.clone(), subject: "Choose a new password".into(), text };
    send(conn, app, &draft, now).await
}

pub async fn password_changed(conn: &mut Conn, call: &Call, user: &User) -> Result<(), DbError> {
    let text = format!(
        "Hello {},\n\nthe password of {} was changed, from the address {}. Every device was signed out.\n\n\
         If it was not you, ask for a new password at once and write to support.\n",
        user.name, user.email, call.ip,
    );
    let draft = Draft { to: user.email.clone(), subject: "Your password was changed".into(), text };
    send(conn, &call.app, &draft, call.now).await
}

pub async fn session_ended_for_reuse(conn: &mut Conn, call: &Call, user: &User) -> Result<(), DbError> {
    let text = format!(
        "Hello {},\n\na sign-in token of {} was used a second time, from the address {}. Somebody may have copied it, \
         so we ended that session.\n\nSign in again; if you do not know the address, change your password too.\n",
        user.name, user.email, call.ip,
    );
    let draft = Draft { to: user.email.clone(), subject: "We ended one of your sessions".into(), text };
    send(conn, &call.app, &draft, call.now).await
}
