//! What programs look for under `/.well-known`: whom to tell of a vulnerability (RFC 9116), and where passwords are
//! changed.

use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderValue};

use api::portal::Screens;
use api::problem::Problem;
use api::response::{Response, full};
use api::screen::{Screen, Show, see_other};
use platform::app::App;
use values::Rfc3339;

/// The contact is as current as the running service; readers must look again after this long.
const EXPIRES_AFTER: Duration = Duration::from_secs(90 * 24 * 3600);

pub fn screens(portal: &Screens) -> [Screen; 2] {
    let change_password: Show = match portal.has("/settings/security") {
        true => |_| Box::pin(async { see_other("/settings/security") }),
        false => |_| Box::pin(async { see_other("/reset-password") }),
    };
    [
        Screen {
            path: "/.well-known/security.txt",
            show: |visit| Box::pin(async move { security_txt(&visit.app) }),
            submit: None,
        },
        Screen { path: "/.well-known/change-password", show: change_password, submit: None },
    ]
}

fn security_txt(app: &App) -> Result<Response, Problem> {
    let (contact, url) = (app.settings.security_contact(), &app.public_url);
    let expires = Rfc3339::from(app.clock.now().plus(EXPIRES_AFTER));
    let text = format!(
        "Contact: {contact}\nExpires: {expires}\nCanonical: {url}/.well-known/security.txt\nPreferred-Languages: en\n"
    );
    let mut response = full(StatusCode::OK, Bytes::from(text));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    Ok(response)
}
