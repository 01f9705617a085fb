//! What a handler or a job may reach: storage, time, randomness, keys and the outside.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::clock::Clock;
use crate::config::Settings;
use crate::crypto::keys::{Keys, Purpose};
use crate::crypto::passwords::Passwords;
use crate::crypto::secrets::Secrets;
use crate::crypto::tokens::Tokens;
use crate::entropy::Entropy;
use crate::limits::Limits;
use crate::outside::did_supplier::{Carriers, HttpCarrier};
use crate::outside::download::Links;
use crate::outside::durable::make_folder;
use crate::outside::fetch::{Fetcher, system_resolver};
use crate::outside::files::Files;
use crate::outside::fx::Feed;
use crate::outside::mail::{MailSettings, Mailer};
use crate::outside::payments::revolut::Revolut;
use crate::outside::payments::sandbox::Sandbox;
use crate::outside::payments::{Payments, Provider};
use crate::outside::vies::{Rest, VatChecks, Vies};
use crate::routing::allow_lists::Addresses;
use crate::routing::cache::Cached;
use crate::routing::tariff::Tariff;
use crate::routing::upstreams::Gateways;
use crate::traces::Traces;
use crate::traffic::Traffic;
use db::metrics::Metrics;
use db::{Conn, Db, DbError, DbOptions, params, sql};
use values::Time;

#[derive(Clone)]
pub struct App(Arc<Inner>);

pub struct Inner {
    pub settings: Settings,
    pub public_url: String,
    pub db: Db,
    pub clock: Clock,
    pub entropy: Entropy,
    pub keys: Keys,
    pub tokens: Tokens,
    pub passwords: Passwords,
    pub limits: Limits,
    pub mailer: Mailer,
    pub payments: Payments,
    pub carriers: Carriers,
    pub vies: Vies,
    pub files: Files,
    pub links: Links,
    /// For addresses that people type in.
    pub fetcher: Fetcher,
    /// Where exchange rates come from, if anywhere.
    pub fx: Option<Feed>,
    /// What sells for how much, as this node knows it.
    pub tariff: Cached<Tariff>,
    /// Where calls come from, as this node knows it.
    pub addresses: Cached<Addresses>,
    /// Where calls go to and whether that is up, as this node knows it.
    pub gateways: Cached<Gateways>,
    pub metrics: Arc<Metrics>,
    pub traces: Traces,
    /// What this node has answered since it last wrote that down.
    pub traffic: Traffic,
    /// Rings when a job may have been enqueued.
    pub jobs_waker: Arc<Notify>,
    pub switch_secret: String,
    pub bootstrap_token: String,
}

impl Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

/// How long another service may take to be reached.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Member states are slow to answer VIES.
const VIES_TIMEOUT: Duration = Duration::from_secs(20);

/// Why the service cannot start.
pub type StartError = Box<dyn std::error::Error + Send + Sync>;

impl App {
    /// Opens everything the service needs. The database is brought up to date first.
    pub async fn open(settings: Settings) -> Result<App, StartError> {
        let clock = Clock::new(settings.test_clock);
        App::open_with(settings, clock).await
    }

    /// The same by another clock.
    pub async fn open_with(settings: Settings, clock: Clock) -> Result<App, StartError> {
        let entropy = Entropy;
        let secrets = Secrets::load(&settings.secrets, &settings.data_dir, entropy)
            .map_err(|error| format!("the secrets in {} cannot be used: {error}", settings.data_dir.display()))?;
        let keys = Keys::from_master(secrets.master.as_bytes());
        let db = open_database(&settings).await?;
        db.migrate().await?;
        claim_database(&db, &keys).await?;
        let mail = match settings.mail.as_str() {
            "file" => MailSettings::File { outbox: settings.data_dir.join("outbox") },
            url => MailSettings::Smtp { url: url.to_owned() },
        };
        let roots = trusted_roots();
        let http = http_client(&roots)?;
        let files = open_files(&settings, &http, entropy, clock.now()).await?;
        let fx = settings.fx_url.clone().map(|url| Feed { http: http.clone(), url });
        let (public_url, jobs_waker) = (settings.public_url(), Arc::default());
        let payments = match (settings.payments, &settings.revolut) {
            (Provider::Revolut, Some(revolut)) => Payments::Revolut(Revolut::new(revolut, http.clone(), clock.clone())),
            (Provider::Revolut, None) => return Err("Revolut needs its key and webhook secret".into()),
            (Provider::Sandbox, _) => Payments::Sandbox(Sandbox {
                db: db.clone(),
                clock: clock.clone(),
                entropy,
                keys: keys.clone(),
                jobs_waker: Arc::clone(&jobs_waker),
                http: http.clone(),
                public_url: public_url.clone(),
                callbacks: settings.sandbox_callbacks,
            }),
        };
        Ok(App(Arc::new(Inner {
            public_url,
            payments,
            carriers: open_carriers(&settings, &http),
            vies: open_vies(&settings, &http),
            limits: Limits::new(&db, settings.rate_limits, &settings.quotas),
            tokens: Tokens::new(&secrets.jwt, secrets.jwt_previous.as_deref()),
            passwords: Passwords::new(entropy, settings.password_cost),
            mailer: Mailer::open(&mail, &settings.mail_from)?,
            files,
            links: Links::new(keys.clone()),
            fetcher: Fetcher { resolver: system_resolver(), roots, is_lab: settings.allow_private_ips },
            fx,
            tariff: Cached::default(),
            addresses: Cached::default(),
            gateways: Cached::default(),
            metrics: db.metrics().clone(),
            traces: open_traces(&settings, &http, entropy, &db),
            traffic: Traffic::default(),
            jobs_waker,
            switch_secret: secrets.switch,
            bootstrap_token: secrets.bootstrap,
            settings,
            db,
            clock,
            entropy,
            keys,
        })))
    }
}

/// Goes where it is told and nowhere else: neither a redirect nor a proxy of the environment leads it astray.
fn http_client(roots: &[reqwest::Certificate]) -> reqwest::Result<reqwest::Client> {
    let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    client.tls_certs_only(roots.iter().cloned()).connect_timeout(CONNECT_TIMEOUT).build()
}

/// Whom the system trusts; one that trusts nobody, such as a bare container, still starts.
fn trusted_roots() -> Vec<reqwest::Certificate> {
    let trusted = rustls_native_certs::load_native_certs().certs;
    trusted.iter().filter_map(|root| reqwest::Certificate::from_der(root).ok()).collect()
}

fn open_carriers(settings: &Settings, http: &reqwest::Client) -> Carriers {
    match &settings.carrier {
        None => Carriers::Stock,
        Some(carrier) => Carriers::Http(HttpCarrier { http: http.clone(), settings: carrier.clone() }),
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

fn open_traces(settings: &Settings, http: &reqwest::Client, entropy: Entropy, db: &Db) -> Traces {
    match &settings.traces {
        None => Traces::off(),
        Some(traces) => Traces::to(traces, http.clone(), entropy, db.metrics()),
    }
}

async fn open_files(
    settings: &Settings,
    http: &reqwest::Client,
    entropy: Entropy,
    now: Time,
) -> Result<Files, StartError> {
    let folder = settings.data_dir.join("files");
    Ok(match &settings.bucket {
        None => Files::in_folder(&folder, entropy, now)?,
        Some(bucket) => Files::in_bucket(bucket, http.clone(), &folder, entropy, now).await?,
    })
}

/// The database named by the settings.
pub async fn open_database(settings: &Settings) -> Result<Db, StartError> {
    make_folder(&settings.data_dir)?;
    let mut options: DbOptions = settings.database_url().parse()?;
    options.connections = settings.database_connections;
    Ok(Db::open(&options).await?)
}

/// The first node to open a database leaves a mark of its master secret; a node with another one must not start,
/// since it could read neither the audit chain nor anything sealed.
async fn claim_database(db: &Db, keys: &Keys) -> Result<(), StartError> {
    let mark = keys.mac(Purpose::Fingerprint, b"master").to_vec();
    let found = db.tx(mark.clone(), |conn, mark| Box::pin(leave_mark(conn, mark))).await?;
    if found != mark {
        return Err("this database belongs to an installation with another master secret; \
                    give every node the same TRUNKLINE_MASTER_SECRET, or the same data folder"
            .into());
    }
    Ok(())
}

async fn leave_mark(conn: &mut Conn, mark: &[u8]) -> Result<Vec<u8>, DbError> {
    conn.exec(
        sql!("INSERT INTO installation (id, master_mark) VALUES (1, $1) ON CONFLICT (id) DO NOTHING"),
        params![mark],
    )
    .await?;
    let (found,) = conn.one(sql!("SELECT master_mark FROM installation WHERE id = 1"), params![]).await?;
    Ok(found)
}
