//! Settings: from the environment, or the same names in a TOML file; the environment wins.
//!
//! Everything has a default, so that `trunkline serve` needs neither. Everything wrong is reported at once. A name
//! nobody knows is refused in the file, since a misspelt setting is a setting not made; the environment belongs to
//! others too, so there it is only pointed out.

mod bucket;
mod calls;
mod carrier;
mod reading;
mod revolut;
mod sources;
mod tax;
mod traces;
mod zones;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipnet::IpNet;

use crate::crypto::passwords::Cost;
use crate::crypto::secrets::ConfiguredSecrets;
use crate::limits::{Limit, MAX_WINDOW, Quota};
use crate::outside::did_supplier::HttpCarrierSettings;
use crate::outside::files::BucketSettings;
use crate::outside::payments::revolut::RevolutSettings;
use crate::outside::payments::{Provider, sandbox};
use crate::traces::TraceSettings;
pub use calls::{AlarmSettings, CallSettings};
use reading::Reading;
use sources::{environment, from_toml};
pub use tax::{Seller, TaxSettings};
use values::DocKind;
pub use zones::Zone;

#[derive(Clone, Debug)]
pub struct Settings {
    pub listen: SocketAddr,
    pub ops_listen: SocketAddr,
    /// The origin in links; follows `listen` unless given.
    pub public_url: Option<String>,
    pub data_dir: PathBuf,
    pub database_url: Option<String>,
    pub database_connections: usize,
    /// Where files go; the data folder unless given.
    pub bucket: Option<BucketSettings>,
    pub mail: String,
    pub mail_from: String,
    pub payments: Provider,
    /// Present exactly when Revolut handles payments.
    pub revolut: Option<RevolutSettings>,
    pub sandbox_callbacks: sandbox::Callbacks,
    /// The carrier that numbers come from; without one they are our own.
    pub carrier: Option<HttpCarrierSettings>,
    /// Origins that a payer may be sent back to; the public one unless given.
    pub return_origins: Vec<String>,
    /// Where reference exchange rates are fetched from every day; nowhere unless given.
    pub fx_url: Option<String>,
    pub cors_origins: Vec<String>,
    pub trusted_proxies: Vec<IpNet>,
    pub rate_limits: bool,
    pub quotas: Vec<(Limit, Quota)>,
    /// What a business has to hand in to be verified.
    pub kyb_required_docs: Vec<DocKind>,
    pub tax: TaxSettings,
    /// Where trunks can be.
    pub zones: Vec<Zone>,
    pub calls: CallSettings,
    /// Lab mode: addresses that lead nowhere on the internet are taken too, and unencrypted ones.
    pub allow_private_ips: bool,
    pub test_clock: bool,
    /// Has no name, so that nobody can make passwords cheap to guess by a setting.
    pub password_cost: Cost,
    /// Who collects spans, if anybody.
    pub traces: Option<TraceSettings>,
    pub log: LogFormat,
    /// Which events are logged, such as `info` or `trunkline=debug`.
    pub log_filter: String,
    pub connections_at_most: usize,
    pub requests_at_once: usize,
    /// For how long a job may wait before the service calls itself not ready.
    pub job_lag_at_most: Duration,
    pub secrets: ConfiguredSecrets,
    /// Names in the environment that look like settings and are none.
    pub unknown: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Human,
    Json,
}

/// Everything that is wrong with the settings.
#[derive(Debug)]
pub struct ConfigError(pub Vec<String>);

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the settings do not hold:")?;
        self.0.iter().try_for_each(|fault| write!(f, "\n  {fault}"))
    }
}

impl std::error::Error for ConfigError {}

impl Settings {
    /// The settings of this process.
    pub fn load(file: Option<&Path>) -> Result<Settings, ConfigError> {
        let environment = environment()?;
        let file = match file {
            Some(path) => from_toml(path)?,
            None => BTreeMap::new(),
        };
        Settings::from_names(file, environment)
    }

    /// Reads settings from their names; what is absent takes its default.
    pub fn from_names(
        file: BTreeMap<String, String>,
        environment: BTreeMap<String, String>,
    ) -> Result<Settings, ConfigError> {
        let in_file: Vec<String> = file.keys().cloned().collect();
        let mut names = file;
        names.extend(environment);
        let mut read = Reading::of(names);
        let payments = read.parsed("TRUNKLINE_PAYMENTS", "sandbox or revolut", Provider::Sandbox);
        let settings = Settings {
            listen: read.parsed("TRUNKLINE_LISTEN", "an IP address and port", SocketAddr::from(([127, 0, 0, 1], 8080))),
            ops_listen: read.parsed("TRUNKLINE_OPS_LISTEN", "an IP address and port", ([127, 0, 0, 1], 9090).into()),
            public_url: read.checked("TRUNKLINE_PUBLIC_URL", "an http(s) origin without a path", is_origin),
            data_dir: read.parsed("TRUNKLINE_DATA_DIR", "a folder", PathBuf::from("data")),
            database_url: read.checked("TRUNKLINE_DATABASE_URL", "sqlite://path or postgres://…", is_database_url),
            database_connections: read.within("TRUNKLINE_DATABASE_CONNECTIONS", 2..=500, 16),
            bucket: read.bucket(),
            mail: read
                .checked("TRUNKLINE_MAIL", "file, smtp://… or smtps://…", is_mail)
                .unwrap_or_else(|| "file".to_owned()),
            mail_from: read
                .text("TRUNKLINE_MAIL_FROM")
                .unwrap_or_else(|| "Trunkline <no-reply@trunkline.invalid>".to_owned()),
            payments,
            revolut: read.revolut(payments),
            sandbox_callbacks: read.parsed(
                "TRUNKLINE_SANDBOX_CALLBACKS",
                "on, or any of drop, duplicate, delay and reorder with commas between",
                sandbox::Callbacks::default(),
            ),
            carrier: read.carrier(),
            return_origins: read
                .list("TRUNKLINE_RETURN_ORIGINS", "http(s) origins", |text| is_origin(text).then(|| text.to_owned())),
            fx_url: read.checked("TRUNKLINE_FX_URL", "an http(s) URL", is_url),
            cors_origins: read
                .list("TRUNKLINE_CORS_ORIGINS", "http(s) origins", |text| is_origin(text).then(|| text.to_owned())),
            trusted_proxies: read.list("TRUNKLINE_TRUSTED_PROXIES", "addresses or networks", |text| {
                text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
            }),
            rate_limits: read.switch("TRUNKLINE_RATE_LIMITS", true),
            quotas: read.quotas(),
            kyb_required_docs: read.kyb_required_docs(),
            tax: read.tax(),
            zones: read.zones(),
            calls: read.calls(),
            allow_private_ips: read.switch("TRUNKLINE_ALLOW_PRIVATE_IPS", false),
            test_clock: read.test_clock(payments),
            password_cost: Cost::Full,
            traces: read.traces(),
            log: read.log(),
            log_filter: read.text("TRUNKLINE_LOG_FILTER").unwrap_or_else(|| "info".to_owned()),
            connections_at_most: read.within("TRUNKLINE_CONNECTIONS", 16..=1_000_000, 10_000),
            requests_at_once: read.within("TRUNKLINE_REQUESTS_AT_ONCE", 8..=100_000, 1_024),
            job_lag_at_most: Duration::from_secs(read.within("TRUNKLINE_JOB_LAG_SECONDS", 10..=86_400, 300) as u64),
            secrets: ConfiguredSecrets {
                master: read.secret("TRUNKLINE_MASTER_SECRET"),
                jwt: read.secret("TRUNKLINE_JWT_SECRET"),
                jwt_previous: read.secret("TRUNKLINE_JWT_SECRET_PREVIOUS"),
                switch: read.secret("TRUNKLINE_SWITCH_SECRET"),
                bootstrap: read.secret("TRUNKLINE_BOOTSTRAP_TOKEN"),
            },
            unknown: Vec::new(),
        };
        let (strangers, mut faults) = read.finish();
        let (misspelt, unknown): (Vec<_>, Vec<_>) = strangers.into_iter().partition(|name| in_file.contains(name));
        faults.extend(misspelt.into_iter().map(|name| format!("{name} is not a setting")));
        if faults.is_empty() { Ok(Settings { unknown, ..settings }) } else { Err(ConfigError(faults)) }
    }

    pub fn public_url(&self) -> String {
        self.public_url.clone().unwrap_or_else(|| format!("http://{}", self.listen))
    }

    pub fn return_origins(&self) -> Vec<String> {
        if self.return_origins.is_empty() { vec![self.public_url()] } else { self.return_origins.clone() }
    }

    /// The address as a payer may be sent back to it, if its origin is one of those.
    pub fn return_address(&self, address: &str) -> Option<String> {
        let address = reqwest::Url::parse(address).ok()?;
        let is_plain = address.username().is_empty() && address.password().is_none();
        let origin = address.origin();
        let origins = self.return_origins();
        let mut allowed = origins.iter().filter_map(|origin| reqwest::Url::parse(origin).ok());
        (is_plain && allowed.any(|allowed| allowed.origin() == origin)).then(|| address.to_string())
    }

    pub fn zone(&self, name: &str) -> Option<&Zone> {
        self.zones.iter().find(|zone| zone.name == name)
    }

    pub fn database_url(&self) -> String {
        let default = || format!("sqlite://{}", self.data_dir.join("trunkline.db").display());
        self.database_url.clone().unwrap_or_else(default)
    }
}

impl Reading {
    /// Nobody may move the time by which real money is taken.
    fn test_clock(&mut self, payments: Provider) -> bool {
        let is_on = self.switch("TRUNKLINE_TEST_CLOCK", false);
        if is_on && payments != Provider::Sandbox {
            self.wrong("TRUNKLINE_TEST_CLOCK", "off unless TRUNKLINE_PAYMENTS is sandbox");
        }
        is_on
    }

    fn kyb_required_docs(&mut self) -> Vec<DocKind> {
        let mut kinds = self.list("TRUNKLINE_KYB_REQUIRED_DOCS", "kinds of document", |text| text.parse().ok());
        if kinds.is_empty() {
            kinds = ["company_registration", "proof_of_address", "director_id"].map(DocKind::named).into();
        }
        kinds.sort();
        kinds.dedup();
        kinds
    }

    fn log(&mut self) -> LogFormat {
        match self.text("TRUNKLINE_LOG").as_deref() {
            None | Some("human") => LogFormat::Human,
            Some("json") => LogFormat::Json,
            Some(_) => {
                self.wrong("TRUNKLINE_LOG", "human or json");
                LogFormat::Human
            }
        }
    }

    /// `TRUNKLINE_LIMIT_READS=600/60`: requests in a window of seconds.
    fn quotas(&mut self) -> Vec<(Limit, Quota)> {
        let mut quotas = Vec::new();
        for limit in Limit::ALL {
            let name = format!("TRUNKLINE_LIMIT_{}", limit.name().replace('-', "_").to_uppercase());
            let Some(text) = self.text(&name) else { continue };
            let numbers = text.split_once('/').and_then(|(requests, seconds)| {
                Some((
                    requests.parse().ok().filter(|n| *n > 0)?,
                    seconds.parse().ok().filter(|n| (1..=MAX_WINDOW.as_secs()).contains(n))?,
                ))
            });
            match numbers {
                Some((requests, seconds)) => {
                    quotas.push((limit, Quota { requests, window: Duration::from_secs(seconds) }));
                }
                None => self.wrong(&name, "requests/seconds, such as 600/60, the window at most an hour"),
            }
        }
        quotas
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

fn is_database_url(text: &str) -> bool {
    ["sqlite://", "postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme))
}

fn is_mail(text: &str) -> bool {
    text == "file" || text.starts_with("smtp://") || text.starts_with("smtps://")
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
    fn the_environment_wins_and_its_strangers_are_pointed_out() {
        let names = |value: &str| BTreeMap::from([("TRUNKLINE_DATA_DIR".to_owned(), value.to_owned())]);
        let mut environment = names("from-environment");
        environment.insert("TRUNKLINE_SOMETHING".into(), "else".into());
        let settings = Settings::from_names(names("from-file"), environment).unwrap();
        assert_eq!(settings.data_dir, PathBuf::from("from-environment"));
        assert_eq!(settings.unknown, ["TRUNKLINE_SOMETHING"]);
    }

    #[test]
    fn nothing_needs_to_be_set() {
        let settings = settings(&[]).unwrap();
        assert_eq!(settings.public_url(), "http://127.0.0.1:8080");
        assert_eq!(settings.database_url(), "sqlite://data/trunkline.db");
        assert_eq!(settings.return_origins(), ["http://127.0.0.1:8080"]);
        assert!(settings.rate_limits);
    }

    #[test]
    fn the_time_of_real_payments_cannot_be_moved() {
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
    fn every_fault_is_named_and_no_value_repeated() {
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
    fn a_secret_of_one_repeated_letter_is_weak() {
        assert!(settings(&[("TRUNKLINE_SWITCH_SECRET", &"a".repeat(64))]).is_err());
        assert!(settings(&[("TRUNKLINE_SWITCH_SECRET", "0123456789abcdef0123456789abcdef")]).is_ok());
    }

    #[test]
    fn payments_and_their_callbacks_are_chosen_by_name() {
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
    fn a_payer_is_sent_back_to_known_origins_only() {
        let names = [("TRUNKLINE_RETURN_ORIGINS", "https://shop.example,http://127.0.0.1:3000")];
        let settings = settings(&names).unwrap();
        for good in ["https://shop.example/done?x=1", "https://SHOP.example:443/", "http://127.0.0.1:3000"] {
            assert!(settings.return_address(good).is_some(), "{good}");
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
            assert_eq!(settings.return_address(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_documents_of_a_business_can_be_chosen() {
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
    fn limits_can_be_changed() {
        let settings = settings(&[("TRUNKLINE_LIMIT_SIGN_IN", "3/10")]).unwrap();
        assert_eq!(settings.quotas, [(Limit::SignIn, Quota { requests: 3, window: Duration::from_secs(10) })]);
    }
}
