//! Migrations: applying them, checking that none is pending, and telling what they would do.

use super::{database_as_it_is, existing_database, print_line};
use db::{Clock, MIGRATIONS, Rollout};
use platform::app::{StartError, open_database};
use platform::config::Settings;

pub async fn migrate(settings: Settings) -> Result<(), StartError> {
    open_database(&settings, &Clock::system()).await?.migrate().await?;
    print_line("The database is up to date.");
    Ok(())
}

/// Fails unless the database has exactly the schema of this binary.
pub async fn check_migrations(settings: Settings) -> Result<(), StartError> {
    existing_database(&settings).await?;
    print_line(&format!("The database is up to date: {} migrations.", MIGRATIONS.len()));
    Ok(())
}

/// Prints the pending migrations, each with what it means for nodes that serve.
pub async fn plan_migrations(settings: Settings) -> Result<(), StartError> {
    let pending = database_as_it_is(&settings).await?.pending_migrations().await?;
    let width = pending.iter().map(|migration| migration.name.len()).max().unwrap_or_default();
    let (mut waits, mut breaks) = (false, false);
    for migration in pending {
        let meaning = match migration.rollout() {
            Rollout::Online => "online".to_owned(),
            Rollout::Waits(reasons) => {
                waits = true;
                format!("writes wait: it {}", reasons.join(", "))
            }
            Rollout::Breaks(reasons) => {
                breaks = true;
                format!("not online: {}", reasons.join(", "))
            }
        };
        print_line(&format!("{:width$}  {meaning}", migration.name));
    }
    print_line(match (pending.is_empty(), breaks, waits) {
        (true, ..) => "No migrations are pending.",
        (_, true, _) => "Stop the nodes of the previous release before these migrations run.",
        (_, _, true) => "Nodes can serve meanwhile; requests that write to the tables named wait.",
        _ => "Nodes can serve meanwhile.",
    });
    Ok(())
}
