//! Job that sends the mail of a password reset, after the response, which is the same for unknown addresses.

use data_encoding::BASE64;
use serde_json::{Value, json};

use crate::invitations::{self, Invitation};
use crate::mailed_links::{self, LinkPurpose};
use crate::users;
use db::{Conn, DbError};
use platform::app::App;
use platform::crypto::keys::Purpose;
use platform::jobs::{Class, JobContext, JobError, Kind, enqueue};
use platform::mail::{self, ReadableTime, Recipient, ResetPassword};
use values::Email;

pub const FORGOT_PASSWORD: Kind = Kind::new("password.forgot").class(Class::Mail);

/// Enqueues a job about an email address, which is encrypted in the payload.
pub async fn enqueue_encrypted(conn: &mut Conn, app: &App, kind: Kind, email: &Email) -> Result<(), DbError> {
    let sealed = BASE64.encode(&app.keys.seal(Purpose::Mail, email.as_str().as_bytes()));
    enqueue(conn, kind, json!({"sealed": sealed})).await.map(drop)
}

fn decrypt(app: &App, payload: &Value) -> Option<Email> {
    let sealed = BASE64.decode(payload["sealed"].as_str()?.as_bytes()).ok()?;
    String::from_utf8(app.keys.open(Purpose::Mail, &sealed)?).ok()?.parse().ok()
}

/// Creates the reset link and sends its mail, if the address belongs to an active user; whoever was only invited
/// gets the invitation again, while it is open.
pub async fn forgot_password_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let email = decrypt(&context.app, &payload)
        .ok_or_else(|| JobError::Permanent("cannot decrypt the email address".into()))?;
    let db = context.db.clone();
    db.tx((context, email), |conn, (context, email)| {
        Box::pin(async move {
            let app = &context.app;
            let found = match invitations::remind(conn, app, email, true).await? {
                Invitation::None => users::find_by_email(conn, email).await?,
                Invitation::Open | Invitation::Expired(_) => None,
            };
            if let Some(user) = found.filter(|user| user.is_active) {
                let link = mailed_links::issue(conn, app, user.id, LinkPurpose::Reset).await?;
                let mail = ResetPassword { link: link.url, expires_at: ReadableTime(link.expires_at) };
                mail::send(conn, app, &Recipient::new(&user.email, &user.name), &mail).await?;
            }
            context.finish_in(conn).await
        })
    })
    .await
}
