//! The first admin, and magic links for users whom mail does not reach.

use std::io::Read;

use super::{Subject, audit_command, existing_database, print_line};
use db::DbError;
use identity::{bootstrap, mailed_links, users};
use platform::app::{App, StartError};
use platform::config::Settings;
use platform::crypto::passwords::PasswordError;
use values::OWN_WORDS_REASON;

/// Creates the first admin; its password is read from standard input.
pub async fn bootstrap(settings: Settings, legal_name: &str, name: &str, email: &str) -> Result<(), StartError> {
    let mut password = String::new();
    std::io::stdin().take(1024).read_to_string(&mut password)?;
    let invalid = |field: &'static str| move |error: values::Invalid| format!("{field} {error}");
    let request = bootstrap::AdminBootstrapRequest {
        legal_name: legal_name.parse().map_err(invalid("--legal-name"))?,
        contact_name: name.parse().map_err(invalid("--name"))?,
        contact_email: email.parse().map_err(invalid("--email"))?,
        password: password.trim_end_matches(['\r', '\n']).parse().map_err(invalid("the password"))?,
    };
    if request.password.repeats(Some(&request.contact_email), Some(&request.legal_name)) {
        return Err(format!("the password {OWN_WORDS_REASON}").into());
    }
    let app = App::open(settings).await?;
    let hash = app.passwords.hash(request.password.expose()).await.map_err(|error| match error {
        PasswordError::Busy => "the password hashing queue is full".to_owned(),
        PasswordError::Broken(cause) => cause,
    })?;
    let db = app.db.clone();
    let created = db
        .tx((app, request, hash), |conn, (app, request, hash)| {
            Box::pin(async move {
                let created = bootstrap::create(conn, request, hash.clone()).await?;
                if let Some((account, user)) = created {
                    audit_command(conn, &app.keys, "admin.bootstrap", Subject::User(account, user)).await?;
                }
                Ok::<_, DbError>(created)
            })
        })
        .await
        .map_err(|error| match error {
            DbError::Unique(_) => StartError::from("a user has this email already; choose another"),
            error => error.into(),
        })?;
    match created {
        Some((account, user)) => print_line(&format!("Created the first admin: {user} of {account}.")),
        None => return Err("an admin exists already".into()),
    }
    Ok(())
}

/// Prints a magic link for a user.
pub async fn create_magic_link(settings: Settings, email: &str) -> Result<(), StartError> {
    let email: values::Email = email.parse()?;
    existing_database(&settings).await?;
    let app = App::open(settings).await?;
    let db = app.db.clone();
    let link = db
        .tx((app, email), |conn, (app, email)| {
            Box::pin(async move {
                let Some(user) = users::find_by_email(conn, email).await? else { return Ok(None) };
                let link = mailed_links::issue_magic_link(conn, app, user.id).await?;
                audit_command(conn, &app.keys, "session.link_issued", Subject::User(user.account_id, user.id)).await?;
                Ok::<_, DbError>(Some(link))
            })
        })
        .await?;
    print_line(&link.ok_or("no user has this email")?.url);
    Ok(())
}
