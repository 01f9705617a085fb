//! Connection settings of PostgreSQL: URL, timeouts and TLS.
//!
//! `sslmode` is `disable`, `prefer` (TLS if the server offers it; the default on loopback), `require` (the default
//! elsewhere) or `verify-full`. With TLS the server's certificate and name are always verified, against the system's
//! roots or the PEM file in `sslrootcert`; no mode encrypts without verifying.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use form_urlencoded::Serializer;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::{DbError, Result};
use crate::options::DbOptions;

/// How long a transaction may be idle between two statements. A node that lost power or its network holds its locks
/// until then.
const IDLE_IN_TRANSACTION: Duration = Duration::from_secs(60);
/// How long the server's TCP stack may take to acknowledge.
const TCP_TIMEOUT: Duration = Duration::from_secs(15);
const KEEPALIVE_PROBES: u32 = 3;

/// The settings of a URL, and the file with the server's root certificates if it names one.
fn parse(url: &str) -> Result<(Config, Option<String>)> {
    let Tls { url, root_certificate, has_ssl_mode } = split_tls(url)?;
    let mut config: Config = url.parse().map_err(|_| DbError::other("the PostgreSQL URL is malformed"))?;
    if !has_ssl_mode && !config.get_hosts().iter().all(is_local) {
        config.ssl_mode(SslMode::Require);
    }
    Ok((config, root_certificate))
}

/// The same connection for programs of PostgreSQL, as environment variables. They verify the server as we do.
pub(crate) fn program_environment(url: &str) -> Result<Vec<(&'static str, String)>> {
    let (config, root_certificate) = parse(url)?;
    let hosts = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(folder) => folder.display().to_string(),
    });
    let (hosts, ports) = (joined(hosts), joined(config.get_ports().iter().map(u16::to_string)));
    let password = config.get_password().map(|password| String::from_utf8(password.to_vec())).transpose();
    let text = |text: Option<&str>| text.map(str::to_owned);
    let ssl_mode = match config.get_ssl_mode() {
        SslMode::Disable => "disable",
        SslMode::Prefer => "prefer",
        _ => "verify-full",
    };
    let root = root_certificate.or_else(|| (ssl_mode == "verify-full").then(|| "system".to_owned()));
    let variables = [
        ("PGHOST", hosts),
        ("PGHOSTADDR", joined(config.get_hostaddrs().iter().map(IpAddr::to_string))),
        ("PGPORT", ports),
        ("PGUSER", text(config.get_user())),
        ("PGPASSWORD", password.map_err(DbError::other)?),
        ("PGDATABASE", text(config.get_dbname().or(config.get_user()))),
        ("PGOPTIONS", text(config.get_options())),
        ("PGSSLMODE", text(Some(ssl_mode))),
        ("PGSSLROOTCERT", root),
    ];
    Ok(variables.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
}

/// As libpq writes lists; `None` if there is nothing.
fn joined(items: impl Iterator<Item = String>) -> Option<String> {
    let items: Vec<String> = items.collect();
    (!items.is_empty()).then(|| items.join(","))
}

pub(super) fn configure(url: &str, options: &DbOptions) -> Result<(Config, MakeRustlsConnect)> {
    let (mut config, root_certificate) = parse(url)?;
    let limits = format!(
        "{} -c lock_timeout={} -c statement_timeout={} -c idle_in_transaction_session_timeout={}",
        config.get_options().unwrap_or_default(),
        options.lock_timeout.as_millis(),
        options.statement_timeout.as_millis(),
        IDLE_IN_TRANSACTION.as_millis(),
    );
    config.options(limits.trim_start()).connect_timeout(options.wait);
    // Detects a server that disappeared, whether or not it had received the statement.
    config.tcp_user_timeout(TCP_TIMEOUT).keepalives_idle(TCP_TIMEOUT);
    config.keepalives_interval(TCP_TIMEOUT / KEEPALIVE_PROBES).keepalives_retries(KEEPALIVE_PROBES);
    if config.get_application_name().is_none() {
        config.application_name("trunkline");
    }
    let roots = match config.get_ssl_mode() {
        SslMode::Disable => RootCertStore::empty(),
        _ => roots(root_certificate.as_deref().map(Path::new))?,
    };
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(DbError::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok((config, MakeRustlsConnect::new(tls)))
}

struct Tls {
    /// The URL without the parameters that tokio-postgres does not know.
    url: String,
    root_certificate: Option<String>,
    has_ssl_mode: bool,
}

/// A socket of this machine, or loopback.
fn is_local(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
        }
    }
}

fn split_tls(url: &str) -> Result<Tls> {
    let Some((base, query)) = url.split_once('?') else {
        return Ok(Tls { url: url.to_owned(), root_certificate: None, has_ssl_mode: false });
    };
    let mut root_certificate = None;
    let mut has_ssl_mode = false;
    let mut kept = Serializer::new(String::new());
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        has_ssl_mode |= name == "sslmode";
        match (&*name, &*value) {
            ("sslrootcert", path) => root_certificate = Some(path.to_owned()),
            ("sslmode", "verify-full") => drop(kept.append_pair("sslmode", "require")),
            ("sslmode", "disable" | "prefer" | "require") => drop(kept.append_pair(&name, &value)),
            ("sslmode", _) => {
                return Err(DbError::other("sslmode must be one of disable, prefer, require and verify-full"));
            }
            _ => drop(kept.append_pair(&name, &value)),
        }
    }
    // tokio-postgres decodes %20 but not the + of forms.
    let query = kept.finish().replace('+', "%20");
    Ok(Tls { url: format!("{base}?{query}"), root_certificate, has_ssl_mode })
}

fn roots(file: Option<&Path>) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let Some(file) = file else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(roots);
    };
    let unreadable = |error: &dyn std::fmt::Display| DbError::other(format!("sslrootcert {}: {error}", file.display()));
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| unreadable(&error))? {
        roots.add(certificate.map_err(|error| unreadable(&error))?).map_err(|error| unreadable(&error))?;
    }
    if roots.is_empty() {
        return Err(unreadable(&"contains no certificate"));
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn parameters_unknown_to_tokio_postgres_are_removed_from_the_url() {
        let tls = split_tls("postgres://a:b@h/db?sslmode=verify-full&sslrootcert=/etc/ca%20x.pem&options=-c%20a%3Db")
            .unwrap();
        assert_eq!(tls.url, "postgres://a:b@h/db?sslmode=require&options=-c%20a%3Db");
        assert_eq!(tls.root_certificate.as_deref(), Some("/etc/ca x.pem"));
        assert_eq!(tls.url.parse::<Config>().unwrap().get_options(), Some("-c a=b"));
    }

    #[test]
    fn tls_is_required_off_loopback_unless_the_url_says_otherwise() {
        let mode = |url: &str| configure(url, &"postgres://h/db".parse().unwrap()).unwrap().0.get_ssl_mode();
        for url in
            ["postgres://db.internal/t", "postgres://10.0.0.7/t?application_name=a", "postgres://127.0.0.1,db2/t"]
        {
            assert_eq!(mode(url), SslMode::Require, "{url}");
        }
        for url in ["postgres://localhost/t", "postgres://127.0.0.1/t", "postgres://%2Frun%2Fpostgresql/t"] {
            assert_eq!(mode(url), SslMode::Prefer, "{url}");
        }
        assert_eq!(mode("postgres://db.internal/t?sslmode=disable"), SslMode::Disable);
        assert_eq!(mode("postgres://db.internal/t?sslmode=prefer"), SslMode::Prefer);
    }

    #[test]
    fn programs_of_postgresql_get_the_same_connection_and_verify_too() {
        let environment = |url: &str| program_environment(url).unwrap();
        let local = environment("postgres://ada:p%40ss@127.0.0.1:5433/voice");
        let expected = [
            ("PGHOST", "127.0.0.1"),
            ("PGPORT", "5433"),
            ("PGUSER", "ada"),
            ("PGPASSWORD", "p@ss"),
            ("PGDATABASE", "voice"),
        ];
        for (name, value) in expected {
            assert!(local.contains(&(name, value.to_owned())), "{name} in {local:?}");
        }
        assert!(local.contains(&("PGSSLMODE", "prefer".to_owned())), "{local:?}");
        let remote = environment("postgres://ada@db1,db2/voice?sslrootcert=/etc/ca.pem");
        assert!(remote.contains(&("PGHOST", "db1,db2".to_owned())), "{remote:?}");
        assert!(remote.contains(&("PGSSLMODE", "verify-full".to_owned())), "{remote:?}");
        assert!(remote.contains(&("PGSSLROOTCERT", "/etc/ca.pem".to_owned())), "{remote:?}");
        assert!(environment("postgres://db1/voice").contains(&("PGSSLROOTCERT", "system".to_owned())));
    }

    #[test]
    fn an_sslmode_that_does_not_verify_is_refused() {
        assert!(split_tls("postgres://h/db?sslmode=allow").is_err());
        assert!(split_tls("postgres://h/db?sslmode=verify-ca").is_err());
    }

    #[test]
    fn timeouts_are_added_to_the_options_of_the_url() {
        let options: DbOptions = "postgres://h/db".parse().unwrap();
        let (config, _) = configure("postgres://h/db?sslmode=disable&options=-c%20a%3Db", &options).unwrap();
        let limits = "-c lock_timeout=5000 -c statement_timeout=20000 -c idle_in_transaction_session_timeout=60000";
        assert_eq!(config.get_options(), Some(format!("-c a=b {limits}").as_str()));
    }
}
