//! Demo data: customers at every stage of onboarding, months of calls, and the money they cost.
//!
//! Nothing is invented in tables. The service runs in this process on a clock that starts in the past. Users sign up,
//! upload documents, pay and open tickets over HTTP, a switch sends CDRs, the team reviews, and jobs run when the clock
//! reaches them. So the ledger, the CDRs and the audit chain can be verified as in a real database. At the end the clock
//! has reached the present, and the service stops.
//!
//! The command line fills an empty database that way ([`fill`]). In a running service a job does it in a database of its
//! own, and copies the rows in one transaction ([`fill_running`]).
//!
//! - `fixtures`: team, companies and tickets; `prices`: destinations, upstreams, rate decks and inventory
//! - `schedule`: what happens when; `operator` and `customer`: what the team and customers do; `wholesale`:
//!   rate plans, a held rate deck, a statement and disputes
//! - `traffic`: CDRs of past calls; `live_calls`: live calls through a running service
//! - `simulation`: the service, its clock and the HTTP client; `calendar`, `rng`: dates and repeatable random numbers
//! - `job`: the work of the job, `import`: the copy, `taken`: what the copy must not collide with

mod calendar;
mod customer;
mod fixtures;
mod import;
mod job;
mod live_calls;
mod operator;
mod prices;
mod rng;
mod schedule;
mod simulation;
mod store;
mod taken;
mod traffic;
mod wholesale;

pub use backoffice::demo_data::{MAX_DAYS, MIN_DAYS};
pub use job::fill_running;
pub use live_calls::{EDGE, LiveCalls, TickSummary};
pub use platform::app::demo::PASSWORD;
pub use simulation::Service;

use std::future::ready;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::time::Duration;

use calendar::Calendar;
use db::{Clock, Entropy};
use platform::app::{StartError, demo as mark, open_database};
use platform::config::{LabSettings, Settings};
use platform::outside::payments::{Provider, sandbox};
use platform::outside::vies::VatChecks;
use simulation::Simulation;
use taken::Taken;
use values::NewPassword;

/// The operator on invoices, unless the settings name a seller: name, street, postal code, city, VAT id.
const SELLER: (&str, &str, &str, &str, &str) =
    (fixtures::OPERATOR, "Oosterdok 2", "1011 VX", "Amsterdam", "NL123456782B90");

const IN_USE: &str = "this database has data, and the demo needs an empty database; stop the service and delete the data \
                      folder, or set another one with TRUNKLINE_DATA_DIR or TRUNKLINE_DATABASE_URL";

pub type Pending<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Starts the service that is simulated, with these settings and this clock.
pub type Start = fn(Settings, Clock) -> Pending<Result<Service, StartError>>;

/// Is told the number of each simulated day; an error ends the simulation.
type Report<'r> = &'r (dyn Fn(u32) -> Pending<Result<(), StartError>> + Send + Sync);

/// What to simulate.
pub struct Options {
    pub days: u32,
    /// Approximate number of calls.
    pub calls: u32,
    pub seed: u64,
    pub password: String,
}

/// What the database contains afterwards.
pub struct DemoData {
    pub calls: i64,
    pub admin: &'static str,
    /// A team member without a password, and its magic link.
    pub support: (&'static str, String),
    /// The email of each customer's user, and the customer's status.
    pub customers: Vec<(&'static str, &'static str)>,
}

impl DemoData {
    /// What was made, in a sentence.
    fn summary(calls: i64, days: u32, customers: usize) -> String {
        format!("{calls} calls in {days} days, of {customers} customers.")
    }
}

/// Everyone knows the fixed one, so it is for labs only.
pub fn default_password(settings: &Settings) -> String {
    if settings.lab.is_lab { PASSWORD.to_owned() } else { Entropy.token() }
}

/// Whether the database of these settings has never been used.
pub async fn is_empty(settings: &Settings) -> Result<bool, StartError> {
    let db = open_database(settings, &Clock::system()).await?;
    db.migrate().await?;
    Ok(store::is_empty(&mut *db.read().await?).await?)
}

/// Fills an empty database. `progress` is called with the number of each simulated day.
pub async fn fill(
    start: Start,
    settings: Settings,
    options: &Options,
    progress: impl Fn(u32) + Send + Sync,
) -> Result<DemoData, StartError> {
    // Checked first: a request that fails later would leave an audit row.
    options.password.parse::<NewPassword<12, 200>>().map_err(|error| format!("--password {error}"))?;
    if !is_empty(&settings).await? {
        return Err(IN_USE.into());
    }
    let report = |day: u32| -> Pending<Result<(), StartError>> {
        progress(day);
        Box::pin(ready(Ok(())))
    };
    let present = Clock::system();
    let simulated = simulate(start, isolated(settings)?, options, present, Taken::default(), &report);
    let (sim, calls) = Box::pin(simulated).await?;
    let support = sim.magic_link(fixtures::SUPPORT.1).await;
    (sim.service.stop)().await;
    let (admin, support) = (fixtures::ADMIN.1, (fixtures::SUPPORT.1, support?));
    Ok(DemoData { calls, admin, support, customers: fixtures::customer_statuses() })
}

/// Simulates the last days up to the present, and returns the number of calls. The service still runs.
async fn simulate(
    start: Start,
    settings: Settings,
    options: &Options,
    present: Clock,
    taken: Taken,
    report: Report<'_>,
) -> Result<(Simulation, i64), StartError> {
    report(0).await?;
    let calendar = Calendar::of_last(options.days, present.now());
    let clock = present.starting_ago(calendar.end.since(calendar.begin));
    let service = start(settings, clock).await?;
    let db = service.app.db.clone();
    let has_known_password = options.password == PASSWORD;
    db.tx(has_known_password, |conn, known| Box::pin(mark::mark(conn, *known))).await?;
    let mut sim = Simulation::new(service, present, options, taken)?;
    match schedule::run(&mut sim, calendar, options.calls, report).await {
        Ok(calls) => {
            db.tx((), |conn, ()| Box::pin(mark::record_users(conn))).await?;
            Ok((sim, calls))
        }
        Err(error) => {
            (sim.service.stop)().await;
            Err(error)
        }
    }
}

/// Settings without any contact to the outside: mail goes to files, payments to the sandbox, and no external service is
/// called or can call. Private networks are allowed, since demo companies call from documentation networks.
fn isolated(settings: Settings) -> Result<Settings, StartError> {
    let mut settings = Settings {
        listen: (Ipv4Addr::LOCALHOST, settings.listen.port()).into(),
        ops_listen: (Ipv4Addr::LOCALHOST, settings.ops_listen.port()).into(),
        ops_tls: None,
        public_url: None,
        mail: "file".to_owned(),
        payments: Provider::Sandbox,
        revolut: None,
        sandbox_callbacks: sandbox::Callbacks::default(),
        did_supplier: None,
        fx_url: None,
        rate_limits: false,
        lab: LabSettings { is_lab: true, is_declared: false },
        require_team_2fa: false,
        require_verified_email: false,
        allow_list_proof: false,
        allow_private_ips: true,
        ..settings
    };
    settings.tax.checks = VatChecks::Offline;
    settings.clients.drain = Duration::ZERO;
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
