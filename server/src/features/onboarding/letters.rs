//! What prospects are told by mail.

use crate::app::App;
use crate::db::{Conn, DbError};
use crate::features::letters::{Draft, send};
use crate::values::{Email, Time};

pub async fn welcome(
    conn: &mut Conn,
    app: &App,
    to: &Email,
    name: &str,
    has_password: bool,
    now: Time,
) -> Result<(), DbError> {
    let next = if has_password {
        format!("Sign in at {} to finish: your traffic, your company's papers and a card.", app.public_url)
    } else {
        "We look at every request; once yours is approved you receive a link to sign in with.".to_owned()
    };
    let text = format!("Hello {name},\n\nthank you for signing up for the private beta.\n\n{next}\n");
    send(conn, app, &Draft { to: to.clone(), subject: "Welcome to the private beta".into(), text }, now).await
}

pub async fn known_address(conn: &mut Conn, app: &App, to: &Email, now: Time) -> Result<(), DbError> {
    let text = format!(
        "Hello,\n\nsomebody, probably you, signed up with this address, which has an account already. Nothing was \
         changed.\n\nSign in at {}, or ask there for a new password if you forgot yours.\n",
        app.public_url,
    );
    send(conn, app, &Draft { to: to.clone(), subject: "You have an account already".into(), text }, now).await
}
