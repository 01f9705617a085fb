//! The team's decision, by mail.

use crate::app::App;
use crate::db::{Conn, DbError};
use crate::features::letters::{Draft, send};
use crate::values::{Email, Time};

pub async fn approved(
    conn: &mut Conn,
    app: &App,
    to: &Email,
    name: &str,
    note: Option<&str>,
    link: &str,
    now: Time,
) -> Result<(), DbError> {
    let text = format!(
        "Hello {name},\n\nwelcome aboard: your account was approved.\n\n{}Sign in with this link within three \
         days:\n\n{link}\n",
        quoted(note),
    );
    send(conn, app, &Draft { to: to.clone(), subject: "Your account was approved".into(), text }, now).await
}

pub async fn declined(
    conn: &mut Conn,
    app: &App,
    to: &Email,
    name: &str,
    note: Option<&str>,
    now: Time,
) -> Result<(), DbError> {
    let text = format!(
        "Hello {name},\n\nwe looked at your signup and cannot offer you an account at this time.\n\n{}If you think this \
         is a mistake, answer this mail.\n",
        quoted(note),
    );
    send(conn, app, &Draft { to: to.clone(), subject: "About your signup".into(), text }, now).await
}

/// The reviewer's own words, if there are any.
fn quoted(note: Option<&str>) -> String {
    note.filter(|note| !note.is_empty()).map_or_else(String::new, |note| format!("Our reviewer writes:\n\n{note}\n\n"))
}
