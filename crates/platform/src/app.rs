//! `App`: everything that a handler or a job may use. One per node, opened from the settings at start.

pub mod demo;
pub mod rotation;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use crate::config::Settings;
use crate::crypto::keys::Keys;
use crate::crypto::passwords::Passwords;
use crate::crypto::secrets::Secrets;
use crate::crypto::switches::SwitchSecrets;
use crate::crypto::tokens::Tokens;
use crate::durable::create_folder;
use crate::event_feed::EventFeed;
use crate::limits::Limits;
use crate::mail::{Branding, MailQueue, MailSettings, Mailer};
use crate::outside::clamd::Clamd;
use crate::outside::did_supplier::{DidSupplier, HttpDidSupplier};
use crate::outside::download::Links;
use crate::outside::fetch::{Fetcher, system_resolver};
use crate::outside::files::Files;
use crate::outside::fx::Feed;
use crate::outside::hosts::Hosts;
use crate::outside::mailbox::Mailbox;
use crate::outside::payments::revolut::Revolut;
use crate::outside::payments::sandbox::Sandbox;
use crate::outside::payments::{Payments, Provider};
use crate::outside::vies::{Rest, VatChecks, Vies};
use crate::presence::Presence;
use crate::recent_writes::RecentWrites;
use crate::request_stats::RequestStats;
use crate::routing::allow_lists::Addresses;
use crate::routing::cache::Cached;
use crate::routing::plans::Plans;
use crate::routing::policies::Policies;
use crate::routing::quality::RouteQuality;
use crate::routing::tariff::Tariff;
use crate::routing::upstreams::Gateways;
use crate::traces::Traces;
use db::metrics::Metrics;
use db::{Clock, Db, DbOptions};
use values::Time;

#[derive(Clone)]
pub struct App(Arc<Inner>);

pub struct Inner {
    pub settings: Settings,
    pub public_url: String,
    pub db: Db,
    pub clock: Clock,
    pub keys: Keys,
    pub tokens: Tokens,
    pub passwords: Passwords,
    pub limits: Limits,
    pub mail: MailQueue,
    pub payments: Payments,
    pub did_supplier: DidSupplier,
    pub vies: Vies,
    pub files: Files,
    /// The malware scanner, if configured.
    pub clamd: Option<Clamd>,
    pub links: Links,
    /// Where rate decks arrive by mail, if configured.
    pub deck_mailbox: Option<Mailbox>,
    /// For URLs that users enter.
    pub fetcher: Fetcher,
    /// Resolves the hosts of SIP URIs.
    pub hosts: Hosts,
    /// Where exchange rates are downloaded from, if configured.
    pub fx: Option<Feed>,
    /// The tariff in force.
    pub tariff: Cached<Tariff>,
    /// The rate plans of customers.
    pub plans: Cached<Plans>,
    /// The allow-lists of trunks.
    pub addresses: Cached<Addresses>,
    /// The upstreams with their gateways and health.
    pub gateways: Cached<Gateways>,
    /// How the routes of calls are ordered.
    pub routing_policies: Cached<Policies>,
    /// How the calls of each route went.
    pub route_quality: RouteQuality,
    /// New events, for the streams of this node.
    pub event_feed: EventFeed,
    pub metrics: Arc<Metrics>,
    pub traces: Traces,
    /// Counts of the requests that this node answered, until they are flushed to the database.
    pub request_stats: RequestStats,
    /// This node, and the edges that called it.
    pub presence: Presence,
    /// The accounts that changed something just now, where lists may be read from a replica.
    pub recent_writes: Option<RecentWrites>,
    pub switch_secrets: SwitchSecrets,
    /// Moves the test clock, beside the switch secret in a lab.
    pub clock_secret: Option<String>,
    pub bootstrap_token: String,
}

impl AsRef<MailQueue> for App {
    fn as_ref(&self) -> &MailQueue {
        &self.mail
    }
}

impl Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

/// Timeout of connecting to another service.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Member states are slow to answer VIES.
const VIES_TIMEOUT: Duration = Duration::from_secs(20);

/// Why the service cannot start.
pub type StartError = Box<dyn std::error::Error + Send + Sync>;

impl App {
    /// Opens everything the service needs, and runs pending migrations.
    pub async fn open(settings: Settings) -> Result<App, StartError> {
        let clock = Clock::new(settings.test_clock);
        App::open_with(settings, clock).await
    }

    /// The same with a given clock.
    pub async fn open_with(settings: Settings, clock: Clock) -> Result<App, StartError> {
        let secrets = Secrets::load(&settings.secrets, &settings.data_dir)
            .map_err(|error| format!("cannot load the secrets in {}: {error}", settings.data_dir.display()))?;
        let keys = secrets.keys();
        let db = open_database(&settings, &clock).await?;
        db.migrate().await?;
        rotation::claim_database(&db, &keys).await?;
        refuse_real_money(&db, settings.payments).await?;
        let roots = trusted_roots();
        let http = http_client(&roots)?;
        let files = open_files(&settings, &http, &keys, clock.now()).await?;
        let fx = settings.fx_url.clone().map(|url| Feed { http: http.clone(), url });
        let public_url = settings.public_url();
        let payments = match (settings.payments, &settings.revolut) {
            (Provider::Revolut, Some(revolut)) => Payments::Revolut(Revolut::new(revolut, http.clone(), clock.clone())),
            (Provider::Revolut, None) => return Err("Revolut needs its key and its webhook secret".into()),
            (Provider::Sandbox, _) => Payments::Sandbox(Sandbox {
                db: db.clone(),
                clock: clock.clone(),
                keys: keys.clone(),
                http: http.clone(),
                public_url: public_url.clone(),
                callbacks: settings.sandbox_callbacks,
            }),
        };
        Ok(App(Arc::new(Inner {
            public_url,
            payments,
            did_supplier: open_did_supplier(&settings, &http),
            vies: open_vies(&settings, &http),
            limits: Limits::new(&db, settings.rate_limits, &settings.quotas),
            tokens: Tokens::new(&secrets.jwt, secrets.jwt_previous.as_deref()),
            passwords: Passwords::new(settings.password_cost),
            mail: open_mail(&settings, &keys, &files)?,
            files,
            clamd: settings.clamd.clone().map(Clamd::new),
            deck_mailbox: open_deck_mailbox(&settings)?,
            links: Links::new(keys.clone()),
            hosts: Hosts::new(system_resolver()),
            fetcher: Fetcher { resolver: system_resolver(), roots, is_lab: settings.allow_private_ips },
            fx,
            tariff: Cached::default(),
            plans: Cached::default(),
            addresses: Cached::default(),
            gateways: Cached::default(),
            routing_policies: Cached::default(),
            route_quality: RouteQuality::default(),
            event_feed: EventFeed::default(),
            metrics: db.metrics().clone(),
            traces: open_traces(&settings, &http, &db),
            request_stats: RequestStats::default(),
            presence: Presence::new(clock.now()),
            recent_writes: settings.read_replica.as_ref().map(|replica| RecentWrites::new(replica.max_lag)),
            switch_secrets: secrets.switches,
            clock_secret: secrets.clock,
            bootstrap_token: secrets.bootstrap,
            settings,
            db,
            clock,
            keys,
        })))
    }
}

/// The client for all outgoing requests. It follows no redirects and ignores proxy settings of the environment.
fn http_client(roots: &[reqwest::Certificate]) -> reqwest::Result<reqwest::Client> {
    let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    client.tls_certs_only(roots.iter().cloned()).connect_timeout(CONNECT_TIMEOUT).build()
}

/// The system's trusted certificates. None at all, as in a bare container, is not an error.
fn trusted_roots() -> Vec<reqwest::Certificate> {
    let trusted = rustls_native_certs::load_native_certs().certs;
    trusted.iter().filter_map(|root| reqwest::Certificate::from_der(root).ok()).collect()
}

fn open_mail(settings: &Settings, keys: &Keys, files: &Files) -> Result<MailQueue, StartError> {
    let delivery = match settings.mail.as_str() {
        "file" => MailSettings::File { outbox: settings.data_dir.join("outbox") },
        url => MailSettings::Smtp { url: url.to_owned() },
    };
    let mailer = Mailer::open(&delivery, &settings.mail_from)?;
    Ok(MailQueue { branding: Branding::new(settings), mailer, keys: keys.clone(), files: files.clone() })
}

fn open_deck_mailbox(settings: &Settings) -> Result<Option<Mailbox>, StartError> {
    Ok(settings.deck_mail.as_ref().map(|deck_mail| Mailbox::new(&deck_mail.mailbox)).transpose()?)
}

fn open_did_supplier(settings: &Settings, http: &reqwest::Client) -> DidSupplier {
    match &settings.did_supplier {
        None => DidSupplier::Inventory,
        Some(supplier) => DidSupplier::Http(HttpDidSupplier { http: http.clone(), settings: supplier.clone() }),
    }
}

fn open_vies(settings: &Settings, http: &reqwest::Client) -> Vies {
    let tax = &settings.tax;
    match tax.checks {
        VatChecks::Offline => Vies::Offline,
        VatChecks::Vies => Vies::Online(Rest {
            http: http.clone(),
            url: tax.vies_url.clone(),
            requester: tax.seller.vat_id.clone(),
            timeout: VIES_TIMEOUT,
        }),
    }
}

fn open_traces(settings: &Settings, http: &reqwest::Client, db: &Db) -> Traces {
    match &settings.traces {
        None => Traces::off(),
        Some(traces) => Traces::to_collector(traces, http.clone(), db.metrics()),
    }
}

async fn open_files(settings: &Settings, http: &reqwest::Client, keys: &Keys, now: Time) -> Result<Files, StartError> {
    let folder = settings.data_dir.join("files");
    Ok(match &settings.bucket {
        None => Files::in_folder(&folder, keys, now)?,
        Some(bucket) => Files::in_bucket(bucket, http.clone(), &folder, keys, now).await?,
    })
}

/// Opens the database that the settings name.
pub async fn open_database(settings: &Settings, clock: &Clock) -> Result<Db, StartError> {
    create_folder(&settings.data_dir)?;
    let mut options: DbOptions = settings.database_url().parse()?;
    options.connections = settings.database_connections;
    options.statement_timeout = settings.statement_timeout;
    options.replica = settings.read_replica.clone();
    options.clock = clock.clone();
    Ok(Db::open(&options).await?)
}

/// The users of a demo have money that nobody paid.
async fn refuse_real_money(db: &Db, payments: Provider) -> Result<(), StartError> {
    if demo::is_marked(&mut *db.read().await?).await? && payments != Provider::Sandbox {
        return Err("this database was made by `trunkline demo` and takes sandbox payments only; \
                    give the service an empty database with TRUNKLINE_DATA_DIR or TRUNKLINE_DATABASE_URL"
            .into());
    }
    Ok(())
}
