//! How the operations port is protected. Off loopback it needs TLS, or a setting that accepts plain HTTP: switches send
//! it their secret.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::SettingsReader;

const CERTIFICATE: &str = "TRUNKLINE_OPS_TLS_CERT";
const KEY: &str = "TRUNKLINE_OPS_TLS_KEY";
const CLIENT_CA: &str = "TRUNKLINE_OPS_TLS_CLIENT_CA";
const PLAIN_HTTP: &str = "TRUNKLINE_OPS_PLAIN_HTTP";

/// PEM files of a TLS listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// Who signs the certificates of clients. With it, a client without one is refused.
    pub client_ca: Option<PathBuf>,
}

impl SettingsReader {
    pub(super) fn ops_tls(&mut self, listen: SocketAddr) -> Option<TlsFiles> {
        let [certificate, key, client_ca] =
            [CERTIFICATE, KEY, CLIENT_CA].map(|name| self.text(name).map(PathBuf::from));
        let accepts_plain_http = self.switch(PLAIN_HTTP, false);
        let is_incomplete = certificate.is_some() != key.is_some() || (client_ca.is_some() && key.is_none());
        if is_incomplete {
            self.wrong(CERTIFICATE, &format!("given together with {KEY}"));
        }
        if certificate.is_none() && !accepts_plain_http && !listen.ip().to_canonical().is_loopback() {
            self.wrong(
                "TRUNKLINE_OPS_LISTEN",
                &format!("on loopback unless {CERTIFICATE} or {PLAIN_HTTP}=on is given"),
            );
        }
        Some(TlsFiles { certificate: certificate?, key: key?, client_ca })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::{ConfigError, Settings};

    fn settings(names: &[(&str, &str)]) -> Result<Settings, ConfigError> {
        let names = names.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Settings::from_names(names, BTreeMap::new())
    }

    #[test]
    fn off_loopback_the_operations_port_needs_tls_or_a_word() {
        let public = [("TRUNKLINE_OPS_LISTEN", "0.0.0.0:9090"), ("TRUNKLINE_LAB", "on")];
        let error = settings(&public).unwrap_err();
        assert!(error.0.len() == 1 && error.0[0].starts_with("TRUNKLINE_OPS_LISTEN must be on loopback"), "{error}");
        settings(&[&public[..], &[(PLAIN_HTTP, "on")]].concat()).unwrap();
        let files = [(CERTIFICATE, "/etc/c.pem"), (KEY, "/etc/k.pem"), (CLIENT_CA, "/etc/ca.pem")];
        let tls = settings(&[&public[..], &files].concat()).unwrap().ops_tls.unwrap();
        assert_eq!(tls.client_ca, Some(PathBuf::from("/etc/ca.pem")));
        for incomplete in [&files[..1], &files[1..2], &files[2..]] {
            assert!(settings(incomplete).is_err(), "{incomplete:?}");
        }
    }
}
