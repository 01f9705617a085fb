//! A database with a past: customers at every point of their way, months of calls, and the money they cost.
//!
//! Nothing is inserted. The service runs in this process by a clock that begins in the past; people sign up, hand in
//! papers, pay and ask over HTTP, a switch hands in its calls, the team decides, and the jobs of every night run when
//! the clock comes by. So whatever can be proved of a real database can be proved of this one. In the end the clock has
//! caught up with the system's, and the service stops.
//!
//! `market` knows what is bought and sold, `cast` who lives here, `diary` what happens when, `company` and `house` what
//! customers and the team do, `traffic` how calls come about; `stage` is the service they speak to. `live` lets calls go
//! on afterwards.

mod calendar;
mod cast;
mod chance;
mod company;
mod diary;
mod house;
mod live;
mod market;
mod stage;
mod store;
mod traffic;

pub use live::{Live, Turn};

use crate::{routes, serve};
use calendar::Calendar;
use chance::Chance;
use platform::app::{StartError, open_database};
use platform::clock::Clock;
use platform::config::Settings;
use platform::outside::payments::{Provider, sandbox};
use platform::outside::vies::VatChecks;
use stage::Stage;
use values::Secret;

/// Fewer days are not enough for every story to come to its end.
pub const FEWEST_DAYS: u32 = 7;
pub const MOST_DAYS: u32 = 366;
/// What everybody signs in with unless another is chosen.
pub const PASSWORD: &str = "correct horse battery staple";

/// How the carrier stands on invoices, unless the settings say.
const SELLER: (&str, &str, &str, &str, &str) = (cast::CARRIER, "Oosterdok 2", "1011 VX", "Amsterdam", "NL123456782B90");

const IN_USE: &str = "this database is in use, and a demonstration needs an empty one; stop the service and remove the \
                      data folder, or name another in TRUNKLINE_DATA_DIR or TRUNKLINE_DATABASE_URL";

/// What is wished for.
pub struct Options {
    pub days: u32,
    /// How many calls, about.
    pub calls: u32,
    pub seed: u64,
    pub password: String,
}

/// Who can be met afterwards.
pub struct Filled {
    pub calls: i64,
    pub admin: &'static str,
    /// A member of the team who has no password, and a link that signs in once.
    pub support: (&'static str, String),
    /// Customers, each with a word about it.
    pub customers: Vec<(&'static str, &'static str)>,
}

/// Whether nobody has used the database that the settings name.
pub async fn is_empty(settings: &Settings) -> Result<bool, StartError> {
    let db = open_database(settings).await?;
    db.migrate().await?;
    Ok(store::is_empty(&mut *db.read().await?).await?)
}

/// Fills an empty database. `tell` hears how far it is, in days.
pub async fn fill(settings: Settings, options: &Options, tell: impl Fn(u32)) -> Result<Filled, StartError> {
    // Asked for now, since a refusal would be in the audit log already.
    options.password.parse::<Secret<12, 200>>().map_err(|error| format!("--password {error}"))?;
    if !is_empty(&settings).await? {
        return Err(IN_USE.into());
    }
    tell(0);
    let calendar = Calendar::of_last(options.days, Clock::system().now());
    let clock = Clock::starting_ago(calendar.end.since(calendar.begin));
    let mut settings = apart(settings)?;
    let service = serve::start_by(&mut settings, routes::table(), clock).await?;
    let mut stage = Stage::new(service, options.password.clone(), Chance::new(options.seed))?;
    let calls = diary::live_through(&mut stage, calendar, options.calls, tell).await;
    let support = stage.link(cast::SUPPORT.1).await;
    stage.service.stop().await;
    Ok(Filled { calls: calls?, admin: cast::ADMIN.1, support: (cast::SUPPORT.1, support?), customers: cast::to_meet() })
}

/// The settings of a service that nobody outside hears of: no mail leaves, nobody is charged, and nothing is asked of
/// others. Companies call from networks that are no part of the internet.
fn apart(settings: Settings) -> Result<Settings, StartError> {
    let mut settings = Settings {
        public_url: None,
        mail: "file".to_owned(),
        payments: Provider::Sandbox,
        revolut: None,
        sandbox_callbacks: sandbox::Callbacks::default(),
        carrier: None,
        fx_url: None,
        rate_limits: false,
        allow_private_ips: true,
        ..settings
    };
    settings.tax.checks = VatChecks::Offline;
    let seller = &mut settings.tax.seller;
    if seller.vat_id.is_none() && settings.tax.home.code() == "NL" {
        let (name, street, postal_code, city, vat_id) = SELLER;
        seller.vat_id = Some(vat_id.parse()?);
        for (field, given) in [
            (&mut seller.name, name),
            (&mut seller.street, street),
            (&mut seller.postal_code, postal_code),
            (&mut seller.city, city),
        ] {
            *field = given.to_owned();
        }
    }
    Ok(settings)
}
