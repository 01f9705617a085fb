//! Settings from the environment (`TRUNKLINE_…`, and names of OpenTelemetry), or from a TOML file with the same names.
//! The environment wins.
//!
//! Every setting has a default. All errors are reported together. An unknown name in the file is an error; in the
//! environment it is only logged, since another program may use it. `table` lists and describes all settings.

mod bucket;
mod calls;
mod clients;
mod database;
mod deck_mail;
mod did_supplier;
mod effective;
mod lab;
mod limits;
mod log;
mod mail;
mod ops;
mod reader;
mod remote;
mod revolut;
mod secrets;
mod sources;
mod table;
mod tax;
mod traces;
mod velocity;
mod written;
mod zones;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipnet::IpNet;

use crate::crypto::passwords::Cost;
use crate::crypto::secrets::ConfiguredSecrets;
use crate::limits::{Limit, Quota};
use crate::outside::clamd::ClamdAddress;
use crate::outside::did_supplier::HttpDidSupplierSettings;
use crate::outside::files::BucketSettings;
use crate::outside::payments::revolut::RevolutSettings;
use crate::outside::payments::{Provider, sandbox};
use crate::traces::TraceSettings;
pub use calls::{AlarmSettings, CallSettings};
pub use clients::ClientSettings;
use database::is_database_url;
use db::ReplicaOptions;
pub use deck_mail::DeckMailSettings;
pub use effective::effective;
pub use lab::LabSettings;
pub use mail::{SmtpEncryption, SmtpServer};
pub use ops::{IdentityFiles, OpsTls, PemFile, SwitchTls};
use reader::SettingsReader;
pub use remote::RemoteSettings;
use sources::{Given, Names, Source};
pub use tax::{Seller, TaxSettings};
use values::{Cidr, Currency, DocKind, Money};
pub use velocity::Velocity;
pub use written::{example_file, help, page};
pub use zones::Zone;

#[derive(Clone, Debug)]
pub struct Settings {
    pub listen: SocketAddr,
    pub ops_listen: SocketAddr,
    /// `None` serves the operations port over plain HTTP.
    pub ops_tls: Option<OpsTls>,
    /// For commands that call the operations port of a running service.
    pub switch_tls: SwitchTls,
    /// The origin in links; derived from `listen` by default.
    pub public_url: Option<String>,
    pub data_dir: PathBuf,
    /// The folder of the manual, if it is served.
    pub manual_dir: Option<PathBuf>,
    pub database_url: Option<String>,
    /// The standby that lists and reports read from, if there is one.
    pub read_replica: Option<ReplicaOptions>,
    pub database_connections: usize,
    /// How long a statement may run (PostgreSQL).
    pub statement_timeout: Duration,
    /// The S3 bucket for files; `None` stores them in the data folder.
    pub bucket: Option<BucketSettings>,
    /// Where uploads are scanned for malware; `None` turns that off.
    pub clamd: Option<ClamdAddress>,
    pub mail: String,
    pub mail_from: String,
    /// The mailbox that rate decks arrive in, if there is one.
    pub deck_mail: Option<DeckMailSettings>,
    /// Whom to tell of a vulnerability; the sender of mail by default.
    pub security_contact: Option<String>,
    pub payments: Provider,
    /// `Some` exactly when Revolut handles payments.
    pub revolut: Option<RevolutSettings>,
    pub sandbox_callbacks: sandbox::Callbacks,
    /// The DID supplier's API; `None` when the operator owns its numbers.
    pub did_supplier: Option<HttpDidSupplierSettings>,
    /// Origins that a payer may return to after checkout; the public one by default.
    pub return_origins: Vec<String>,
    /// URL of the reference exchange rates, downloaded every day; `None` turns that off.
    pub fx_url: Option<String>,
    pub cors_origins: Vec<String>,
    pub trusted_proxies: Vec<IpNet>,
    pub rate_limits: bool,
    pub quotas: Vec<(Limit, Quota)>,
    /// The documents that KYB requires.
    pub kyb_required_docs: Vec<DocKind>,
    /// The limits of an account's top-ups.
    pub topup_velocity: Velocity,
    /// The limits of payments with one card, whichever accounts make them.
    pub card_velocity: Velocity,
    /// What one admin may credit to a customer in a day; more needs a second admin.
    pub credit_approval: Money,
    pub tax: TaxSettings,
    /// The zones that a trunk can be in.
    pub zones: Vec<Zone>,
    /// Networks of the edges, beside the addresses of the zones.
    pub edge_ips: Vec<Cidr>,
    pub calls: CallSettings,
    pub lab: LabSettings,
    /// Whether the team must sign in with a second factor. Off in a lab by default, like the next two.
    pub require_team_2fa: bool,
    /// Whether KYB, card check and approval need a verified email address.
    pub require_verified_email: bool,
    /// Whether an allow-list entry counts only after calls from it were proved to be the customer's.
    pub allow_list_proof: bool,
    /// How long a team member's session may go unused.
    pub team_idle: Duration,
    /// Also accepts private IP addresses and `http` URLs.
    pub allow_private_ips: bool,
    pub test_clock: bool,
    /// Not a setting, so that nobody can weaken password hashing by accident. Tests set it.
    pub password_cost: Cost,
    /// The OpenTelemetry collector, if there is one.
    pub traces: Option<TraceSettings>,
    pub log: LogFormat,
    /// Which events are logged, such as `warn` or `info,voice=debug`.
    pub log_filter: String,
    /// Maximum number of open client connections.
    pub max_connections: usize,
    /// What one client may hold.
    pub clients: ClientSettings,
    /// Maximum number of requests in progress.
    pub max_concurrent_requests: usize,
    /// How long a due job may wait before the node reports that it is not ready.
    pub max_job_lag: Duration,
    /// How long rows of the audit log stay in the database before they move to files.
    pub audit_retention: Duration,
    pub secrets: ConfiguredSecrets,
    /// The service elsewhere that commands may use.
    pub remote: RemoteSettings,
    /// About unknown `TRUNKLINE_…` names in the environment, and values that are ignored.
    pub warnings: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Human,
    Json,
}

/// All errors in the settings.
#[derive(Debug)]
pub struct ConfigError(pub Vec<String>);

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "invalid settings:")?;
        self.0.iter().try_for_each(|error| write!(f, "\n  {error}"))
    }
}

impl std::error::Error for ConfigError {}

impl Settings {
    /// Loads the settings of this process.
    pub fn load(file: Option<&Path>) -> Result<Settings, ConfigError> {
        Settings::from_given(sources::load(file)?)
    }

    /// Parses settings by name; a missing one gets its default.
    pub fn from_names(
        file: BTreeMap<String, String>,
        environment: BTreeMap<String, String>,
    ) -> Result<Settings, ConfigError> {
        let given = |names: BTreeMap<String, String>, source: Source| {
            names.into_iter().map(move |(name, value)| (name, Given { value, source: source.clone() }))
        };
        let file = given(file, Source::File(sources::Place::default()));
        Settings::from_given(file.chain(given(environment, Source::Environment)).collect())
    }

    fn from_given(mut names: Names) -> Result<Settings, ConfigError> {
        let errors = sources::read_secret_files(&mut names);
        let mut read = SettingsReader::new(names, errors);
        let payments = read.parsed("TRUNKLINE_PAYMENTS", "sandbox or revolut", Provider::Sandbox);
        let listen = read.address("TRUNKLINE_LISTEN", ([127, 0, 0, 1], 8080).into());
        let ops_listen = read.address("TRUNKLINE_OPS_LISTEN", ([127, 0, 0, 1], 9090).into());
        let public_url = read.checked("TRUNKLINE_PUBLIC_URL", "an http(s) origin without a path", is_origin);
        let ops_tls = read.ops_tls(ops_listen);
        let lab = read.lab(payments, lab::is_exposed([listen, ops_listen], public_url.as_deref()));
        let database_url = read.checked("TRUNKLINE_DATABASE_URL", "sqlite://path or postgres://…", is_database_url);
        let settings = Settings {
            listen,
            ops_listen,
            ops_tls,
            switch_tls: read.switch_tls(),
            public_url,
            data_dir: read.parsed("TRUNKLINE_DATA_DIR", "a folder", PathBuf::from("data")),
            manual_dir: read.text("TRUNKLINE_MANUAL_DIR").map(PathBuf::from),
            read_replica: read.read_replica(database_url.as_deref()),
            database_url,
            database_connections: read.within("TRUNKLINE_DATABASE_CONNECTIONS", 2..=500, 16),
            statement_timeout: read.seconds("TRUNKLINE_DATABASE_STATEMENT_SECONDS", 1..=20, 20),
            bucket: read.bucket(),
            clamd: read.clamd(),
            mail: read.mail(),
            mail_from: read.mail_from(),
            deck_mail: read.deck_mail(),
            security_contact: read.checked("TRUNKLINE_SECURITY_CONTACT", "a mailto: or https:// URL", is_contact),
            payments,
            revolut: read.revolut(payments),
            sandbox_callbacks: read.parsed(
                "TRUNKLINE_SANDBOX_CALLBACKS",
                "on, or any of drop, duplicate, delay and reorder, separated by commas",
                sandbox::Callbacks::default(),
            ),
            did_supplier: read.did_supplier(),
            return_origins: read
                .list("TRUNKLINE_RETURN_ORIGINS", "http(s) origins", |text| is_origin(text).then(|| text.to_owned())),
            fx_url: read.checked("TRUNKLINE_FX_URL", "an http(s) URL", is_url),
            cors_origins: read
                .list("TRUNKLINE_CORS_ORIGINS", "http(s) origins", |text| is_origin(text).then(|| text.to_owned())),
            trusted_proxies: read.list("TRUNKLINE_TRUSTED_PROXIES", "IP addresses or networks", |text| {
                text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
            }),
            rate_limits: read.switch("TRUNKLINE_RATE_LIMITS", true),
            quotas: read.quotas(),
            kyb_required_docs: read.kyb_required_docs(),
            topup_velocity: read.topup_velocity(),
            card_velocity: read.card_velocity(lab.is_lab),
            credit_approval: read.euros("TRUNKLINE_CREDIT_APPROVAL_EUR", 0..=1_000_000, 1_000),
            tax: read.tax(),
            zones: read.zones(),
            edge_ips: read.list("TRUNKLINE_EDGE_IPS", "IP addresses or networks", |text| text.parse().ok()),
            calls: read.calls(),
            lab,
            require_team_2fa: read.switch("TRUNKLINE_REQUIRE_TEAM_2FA", !lab.is_lab),
            require_verified_email: read.switch("TRUNKLINE_REQUIRE_VERIFIED_EMAIL", !lab.is_lab),
            allow_list_proof: read.switch("TRUNKLINE_ALLOW_LIST_PROOF", !lab.is_lab),
            team_idle: Duration::from_secs(60 * read.within("TRUNKLINE_TEAM_IDLE_MINUTES", 5..=43_200, 60) as u64),
            allow_private_ips: read.switch("TRUNKLINE_ALLOW_PRIVATE_IPS", false),
            test_clock: read.test_clock(payments),
            password_cost: Cost::Full,
            traces: read.traces(),
            log: read.log(),
            log_filter: read.log_filter(),
            max_connections: read.within("TRUNKLINE_CONNECTIONS", 16..=1_000_000, 10_000),
            clients: read.clients(),
            max_concurrent_requests: read.within("TRUNKLINE_REQUESTS_AT_ONCE", 8..=100_000, 1_024),
            max_job_lag: Duration::from_secs(read.within("TRUNKLINE_JOB_LAG_SECONDS", 10..=86_400, 300) as u64),
            audit_retention: Duration::from_secs(
                24 * 3600 * read.within("TRUNKLINE_AUDIT_DAYS", 30..=36_500, 730) as u64,
            ),
            secrets: read.secrets(lab.is_lab),
            remote: read.remote(),
            warnings: Vec::new(),
        };
        let (unused, mut errors, mut warnings) = read.finish();
        errors.extend(lab::refused_outside(&settings));
        let (misspelt, unknown): (Names, Names) = unused.into_iter().partition(|(_, given)| given.source.is_file());
        errors.extend(misspelt.iter().map(|(name, given)| format!("{}{name} is not a setting", given.source.prefix())));
        warnings.extend(unknown.into_keys().map(|name| format!("{name} in the environment is not a setting")));
        if errors.is_empty() { Ok(Settings { warnings, ..settings }) } else { Err(ConfigError(errors)) }
    }

    pub fn public_url(&self) -> String {
        self.public_url.clone().unwrap_or_else(|| format!("http://{}", self.listen))
    }

    pub fn return_origins(&self) -> Vec<String> {
        if self.return_origins.is_empty() { vec![self.public_url()] } else { self.return_origins.clone() }
    }

    /// The URL in normal form, if a payer may return to its origin.
    pub fn return_url(&self, url: &str) -> Option<String> {
        let url = reqwest::Url::parse(url).ok()?;
        let is_plain = url.username().is_empty() && url.password().is_none();
        let origin = url.origin();
        let origins = self.return_origins();
        let mut allowed = origins.iter().filter_map(|origin| reqwest::Url::parse(origin).ok());
        (is_plain && allowed.any(|allowed| allowed.origin() == origin)).then(|| url.to_string())
    }

    /// A URL to report vulnerabilities to.
    pub fn security_contact(&self) -> String {
        let sender = self.mail_from.rsplit('<').next().unwrap_or_default().trim_end_matches('>').trim();
        self.security_contact.clone().unwrap_or_else(|| format!("mailto:{sender}"))
    }

    pub fn zone(&self, name: &str) -> Option<&Zone> {
        self.zones.iter().find(|zone| zone.name == name)
    }

    pub fn database_url(&self) -> String {
        let default = || format!("sqlite://{}", self.data_dir.join("trunkline.db").display());
        self.database_url.clone().unwrap_or_else(default)
    }
}

impl SettingsReader {
    /// The test clock is for the sandbox only: time must not be moved where real money is charged.
    fn test_clock(&mut self, payments: Provider) -> bool {
        let is_on = self.switch("TRUNKLINE_TEST_CLOCK", false);
        if is_on && payments != Provider::Sandbox {
            self.wrong("TRUNKLINE_TEST_CLOCK", "off unless TRUNKLINE_PAYMENTS is sandbox");
        }
        is_on
    }

    fn clamd(&mut self) -> Option<ClamdAddress> {
        let address = self.text("TRUNKLINE_CLAMD")?.parse();
        if address.is_err() {
            self.wrong("TRUNKLINE_CLAMD", "tcp://host:port or unix:/path");
        }
        address.ok()
    }

    fn euros(&mut self, name: &str, range: std::ops::RangeInclusive<usize>, default: usize) -> Money {
        let euros = self.within(name, range, default);
        Money::from_nanos(i64::try_from(euros).unwrap_or(i64::MAX).saturating_mul(1_000_000_000), Currency::EUR)
    }

    fn kyb_required_docs(&mut self) -> Vec<DocKind> {
        let mut kinds = self.list("TRUNKLINE_KYB_REQUIRED_DOCS", "document kinds", |text| text.parse().ok());
        if kinds.is_empty() {
            kinds = ["company_registration", "proof_of_address", "director_id"].map(DocKind::named).into();
        }
        kinds.sort();
        kinds.dedup();
        kinds
    }
}

fn is_origin(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '?', '#', '@', ' ']))
}

fn is_url(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    host.is_some_and(|host| !host.is_empty() && !host.starts_with('/') && !host.contains(char::is_whitespace))
}

fn is_contact(text: &str) -> bool {
    let address = text.strip_prefix("mailto:").filter(|address| address.contains('@'));
    address
        .or_else(|| text.strip_prefix("https://"))
        .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|letter| letter.is_ascii_graphic()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn settings(names: &[(&str, &str)]) -> Result<Settings, ConfigError> {
        let names = names.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Settings::from_names(names, BTreeMap::new())
    }

    #[test]
    fn the_environment_wins_and_its_unknown_names_are_warned_of() {
        let names = |value: &str| BTreeMap::from([("TRUNKLINE_DATA_DIR".to_owned(), value.to_owned())]);
        let mut environment = names("from-environment");
        environment.insert("TRUNKLINE_SOMETHING".into(), "else".into());
        let settings = Settings::from_names(names("from-file"), environment).unwrap();
        assert_eq!(settings.data_dir, PathBuf::from("from-environment"));
        assert_eq!(settings.warnings, ["TRUNKLINE_SOMETHING in the environment is not a setting"]);
    }

    #[test]
    fn every_setting_has_a_default() {
        let settings = settings(&[]).unwrap();
        assert_eq!(settings.public_url(), "http://127.0.0.1:8080");
        assert_eq!(settings.database_url(), "sqlite://data/trunkline.db");
        assert_eq!(settings.return_origins(), ["http://127.0.0.1:8080"]);
        assert!(settings.rate_limits);
    }

    #[test]
    fn the_test_clock_needs_sandbox_payments() {
        let clock = ("TRUNKLINE_TEST_CLOCK", "on");
        assert!(settings(&[clock]).unwrap().test_clock);
        let revolut = [
            ("TRUNKLINE_PAYMENTS", "revolut"),
            ("TRUNKLINE_REVOLUT_KEY", "sk_0123456789abcdefghij"),
            ("TRUNKLINE_REVOLUT_WEBHOOK_SECRET", "wsk_0123456789abcdefghij"),
        ];
        settings(&revolut).unwrap();
        let error = settings(&[revolut.as_slice(), &[clock]].concat()).unwrap_err();
        assert_eq!(error.0, ["TRUNKLINE_TEST_CLOCK must be off unless TRUNKLINE_PAYMENTS is sandbox"]);
    }

    #[test]
    fn every_error_is_reported_without_the_value() {
        let error = settings(&[
            ("TRUNKLINE_LISTEN", "nowhere"),
            ("TRUNKLINE_JWT_SECRET", "hunter2"),
            ("TRUNKLINE_LIMIT_READS", "many"),
            ("TRUNKLINE_LISTNE", "127.0.0.1:1"),
        ])
        .unwrap_err();
        assert_eq!(error.0.len(), 4);
        assert!(error.to_string().contains("TRUNKLINE_LISTNE is not a setting"));
        assert!(!error.to_string().contains("hunter2"));
    }

    #[test]
    fn a_weak_secret_is_rejected() {
        assert!(settings(&[("TRUNKLINE_SWITCH_SECRET", &"a".repeat(64))]).is_err());
        assert!(settings(&[("TRUNKLINE_SWITCH_SECRET", "0123456789abcdef0123456789abcdef")]).is_ok());
    }

    #[test]
    fn the_payment_provider_and_its_callbacks_can_be_set() {
        let chosen =
            settings(&[("TRUNKLINE_PAYMENTS", "sandbox"), ("TRUNKLINE_SANDBOX_CALLBACKS", "duplicate")]).unwrap();
        assert_eq!(chosen.sandbox_callbacks, sandbox::Callbacks { duplicate: true, ..sandbox::Callbacks::default() });
        let origins = settings(&[("TRUNKLINE_RETURN_ORIGINS", "https://a.example, https://b.example")]).unwrap();
        assert_eq!(origins.return_origins(), ["https://a.example", "https://b.example"]);
        for (name, value) in [
            ("TRUNKLINE_PAYMENTS", "cash"),
            ("TRUNKLINE_SANDBOX_CALLBACKS", "thrice"),
            ("TRUNKLINE_RETURN_ORIGINS", "https://a.example/path"),
        ] {
            assert!(settings(&[(name, value)]).is_err(), "{name}");
        }
    }

    #[test]
    fn a_payer_returns_to_allowed_origins_only() {
        let names = [("TRUNKLINE_RETURN_ORIGINS", "https://shop.example,http://127.0.0.1:3000")];
        let settings = settings(&names).unwrap();
        for good in ["https://shop.example/done?x=1", "https://SHOP.example:443/", "http://127.0.0.1:3000"] {
            assert!(settings.return_url(good).is_some(), "{good}");
        }
        for bad in [
            "http://shop.example/",
            "https://shop.example.evil.example/",
            "https://shop.example@evil.example/",
            "https://me@shop.example/",
            "https://shop.example:444/",
            "javascript:alert(1)",
            "//shop.example/",
            "/done",
            "",
        ] {
            assert_eq!(settings.return_url(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_documents_for_kyb_can_be_set() {
        let kinds = |names: &[(&str, &str)]| {
            settings(names)
                .map(|settings| settings.kyb_required_docs.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(kinds(&[]).unwrap(), ["company_registration", "director_id", "proof_of_address"]);
        let chosen = kinds(&[("TRUNKLINE_KYB_REQUIRED_DOCS", "tax_certificate, director_id,tax_certificate")]);
        assert_eq!(chosen.unwrap(), ["director_id", "tax_certificate"]);
        assert!(kinds(&[("TRUNKLINE_KYB_REQUIRED_DOCS", "Passport")]).is_err());
    }

    #[test]
    fn rate_limits_can_be_set() {
        let settings = settings(&[("TRUNKLINE_LIMIT_SIGN_IN", "3/10")]).unwrap();
        assert_eq!(settings.quotas, [(Limit::SignIn, Quota { requests: 3, window: Duration::from_secs(10) })]);
    }
}
