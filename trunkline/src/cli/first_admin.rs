//! What the service prints while it has no admin: how to create the first one.
//!
//! The bootstrap token is for whoever has the console, so it goes to standard output only, never to the log. Where
//! standard output is no terminal and the log is JSON, both are collected: the line then says where the token is.

use api::portal::Screens;
use identity::bootstrap;
use platform::app::App;
use platform::config::LogFormat;

pub fn invitation(app: &App, portal: &Screens, is_terminal: bool) -> Vec<String> {
    let (url, token) = (&app.public_url, &app.bootstrap_token);
    let has_page = portal.has(bootstrap::WELCOME);
    if app.settings.log == LogFormat::Json && !is_terminal {
        let token = match app.settings.secrets.bootstrap {
            Some(_) => "TRUNKLINE_BOOTSTRAP_TOKEN".to_owned(),
            None => app.settings.data_dir.join("secrets/bootstrap").display().to_string(),
        };
        let way = match has_page {
            true => format!("at {url}{}#token=…", bootstrap::WELCOME),
            false => format!("with POST {url}/v1/admin/bootstrap"),
        };
        return vec![format!("No admin yet. Create the first one {way} and the token in {token}")];
    }
    match has_page {
        true => vec![format!("No admin yet. Create the first one at {}", bootstrap::welcome_url(url, token))],
        false => vec![
            format!("No admin yet. Create one with: POST {url}/v1/admin/bootstrap"),
            format!("and the header X-Bootstrap-Token: {token}"),
        ],
    }
}
