//! Rotation of the master secret.

use super::{existing_database, print_line};
use backoffice::master_secret;
use platform::app::{App, StartError};
use platform::config::Settings;
use platform::crypto::resealed::Resealed;

/// Seals everything with the new master secret, retires the old one, and prints what was done.
pub async fn rotate_master_secret(settings: Settings) -> Result<(), StartError> {
    existing_database(&settings).await?;
    let app = App::open(settings).await?;
    master_secret::rotate(&app, |what, Resealed { checked, resealed, unreadable }| {
        let left = if unreadable > 0 { format!(", {unreadable} cannot be read") } else { String::new() };
        print_line(&format!("{what}: {resealed} of {checked} sealed with the new master secret{left}."));
    })
    .await?;
    print_line("The rotation has ended. Remove TRUNKLINE_MASTER_SECRET_PREVIOUS from every node.");
    Ok(())
}
