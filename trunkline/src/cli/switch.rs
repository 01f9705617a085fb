//! The files of an edge (`dispatcher.list`, `address.list`), written from the service's configuration.

use std::path::PathBuf;

use super::{print_line, start_log, stop_signal};
use platform::app::StartError;
use platform::config::Settings;
use platform::edge::{self, Edge};

/// The edge of these settings. Its machine needs only the switch secret, and certificates if the service asks for them.
fn edge_client(settings: &Settings, service: Option<String>, folder: PathBuf) -> Result<Edge, StartError> {
    let service = service.unwrap_or_else(|| settings.ops_url());
    Ok(Edge::new(&service, switch_secret(settings)?, folder)?.with_tls(settings.switch_tls.clone())?)
}

/// The switch secret: the setting, or the file in the data folder.
pub fn switch_secret(settings: &Settings) -> Result<String, StartError> {
    let file = settings.data_dir.join("secrets/switch");
    let of_an_edge = || settings.secrets.switches.first().map(|switch| &switch.secret);
    let secret = match settings.secrets.switch.as_ref().or_else(of_an_edge) {
        Some(secret) => secret.clone(),
        None => std::fs::read_to_string(&file)
            .map_err(|error| format!("TRUNKLINE_SWITCH_SECRET is not set, and {}: {error}", file.display()))?,
    };
    Ok(secret.trim().to_owned())
}

/// Writes the edge's files once.
pub async fn render_switch(settings: Settings, service: Option<String>, folder: PathBuf) -> Result<(), StartError> {
    match edge_client(&settings, service, folder)?.render().await?.as_slice() {
        [] => print_line("Nothing has changed."),
        written => print_line(&format!("Wrote {}.", written.join(" and "))),
    }
    Ok(())
}

/// Keeps the edge's files up to date until SIGTERM or SIGINT.
pub async fn sync_switch(
    settings: Settings,
    service: Option<String>,
    folder: PathBuf,
    control: &str,
) -> Result<(), StartError> {
    start_log(&settings)?;
    let mut edge = edge_client(&settings, service, folder)?;
    let mut interval = tokio::time::interval(edge::POLL_INTERVAL);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut stop = std::pin::pin!(stop_signal());
    loop {
        tokio::select! {
            stopped = &mut stop => return stopped.map(drop).map_err(Into::into),
            _ = interval.tick() => {}
        }
        match edge.sync(control).await {
            Ok(written) if written.is_empty() => {}
            Ok(written) => tracing::info!(?written, "switch files updated"),
            Err(error) => tracing::warn!(%error, "switch files not updated, retrying"),
        }
    }
}
