//! Where the operations port may listen, and its certificates. Switches send it their secret, so off loopback it needs
//! TLS, or a setting that accepts plain HTTP, such as inside a tunnel.

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::{Settings, SettingsReader};

const PLAIN_HTTP: &str = "TRUNKLINE_OPS_PLAIN_HTTP";
const CERTIFICATE: &str = "TRUNKLINE_OPS_TLS_CERT";
const KEY: &str = "TRUNKLINE_OPS_TLS_KEY";
const CLIENT_CA: &str = "TRUNKLINE_OPS_TLS_CLIENT_CA";
const SWITCH_CA: &str = "TRUNKLINE_SWITCH_TLS_CA";
const SWITCH_CERTIFICATE: &str = "TRUNKLINE_SWITCH_TLS_CERT";
const SWITCH_KEY: &str = "TRUNKLINE_SWITCH_TLS_KEY";

/// A PEM file, and the setting that names it.
#[derive(Clone, Debug)]
pub struct PemFile {
    pub setting: &'static str,
    pub path: PathBuf,
}

impl PemFile {
    pub fn read(&self) -> Result<Vec<u8>, String> {
        std::fs::read(&self.path).map_err(|error| self.error(error))
    }

    /// What is wrong with it.
    pub fn error(&self, error: impl Display) -> String {
        format!("{} {}: {error}", self.setting, self.path.display())
    }
}

/// The certificate chain and private key of one side.
#[derive(Clone, Debug)]
pub struct IdentityFiles {
    pub certificate: PemFile,
    pub key: PemFile,
}

/// The certificates of the operations port.
#[derive(Clone, Debug)]
pub struct OpsTls {
    pub identity: IdentityFiles,
    /// Clients need a certificate of one of these authorities; `None` asks them for none.
    pub client_ca: Option<PemFile>,
}

/// The certificates of a switch, for its requests to the operations port.
#[derive(Clone, Debug, Default)]
pub struct SwitchTls {
    /// Whose certificates the operations port may have; `None` means the system's authorities.
    pub ca: Option<PemFile>,
    pub identity: Option<IdentityFiles>,
}

impl SwitchTls {
    pub fn has_files(&self) -> bool {
        self.ca.is_some() || self.identity.is_some()
    }
}

impl Settings {
    /// The operations port as a program on this machine reaches it.
    pub fn ops_url(&self) -> String {
        let scheme = if self.ops_tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.ops_listen)
    }
}

impl SettingsReader {
    pub(super) fn ops_tls(&mut self, listen: SocketAddr) -> Option<OpsTls> {
        let identity = self.identity(CERTIFICATE, KEY);
        let client_ca = self.pem(CLIENT_CA);
        if identity.is_none() && client_ca.is_some() {
            self.wrong(CERTIFICATE, &format!("given with {CLIENT_CA}"));
        }
        let accepts_plain = self.switch(PLAIN_HTTP, false);
        if identity.is_none() && !accepts_plain && !listen.ip().to_canonical().is_loopback() {
            let expected = format!("on loopback unless {CERTIFICATE} and {KEY}, or {PLAIN_HTTP}=on, are given");
            self.wrong("TRUNKLINE_OPS_LISTEN", &expected);
        }
        Some(OpsTls { identity: identity?, client_ca })
    }

    pub(super) fn switch_tls(&mut self) -> SwitchTls {
        SwitchTls { ca: self.pem(SWITCH_CA), identity: self.identity(SWITCH_CERTIFICATE, SWITCH_KEY) }
    }

    fn identity(&mut self, certificate: &'static str, key: &'static str) -> Option<IdentityFiles> {
        match (self.pem(certificate), self.pem(key)) {
            (Some(certificate), Some(key)) => return Some(IdentityFiles { certificate, key }),
            (Some(_), None) => self.wrong(key, &format!("given with {certificate}")),
            (None, Some(_)) => self.wrong(certificate, &format!("given with {key}")),
            (None, None) => {}
        }
        None
    }

    fn pem(&mut self, setting: &'static str) -> Option<PemFile> {
        self.text(setting).map(|path| PemFile { setting, path: PathBuf::from(path) })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::ConfigError;

    fn settings(names: &[(&str, &str)]) -> Result<Settings, ConfigError> {
        let names = names.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Settings::from_names(names, BTreeMap::new())
    }

    #[test]
    fn off_loopback_the_operations_port_needs_tls_or_a_setting() {
        let public = [("TRUNKLINE_OPS_LISTEN", "0.0.0.0:9090"), ("TRUNKLINE_LAB", "on")];
        let error = settings(&public).unwrap_err();
        assert!(error.0.len() == 1 && error.0[0].starts_with("TRUNKLINE_OPS_LISTEN must be on loopback"), "{error}");
        let plain = settings(&[&public[..], &[(PLAIN_HTTP, "on")]].concat()).unwrap();
        assert_eq!(plain.ops_url(), "http://0.0.0.0:9090");
        let tls = settings(&[&public[..], &[(CERTIFICATE, "/etc/ops.pem"), (KEY, "/etc/ops.key")]].concat()).unwrap();
        assert_eq!(tls.ops_url(), "https://0.0.0.0:9090");
    }

    #[test]
    fn a_certificate_needs_its_key_and_client_certificates_need_both() {
        for (given, missing) in [
            (CERTIFICATE, KEY),
            (KEY, CERTIFICATE),
            (CLIENT_CA, CERTIFICATE),
            (SWITCH_CERTIFICATE, SWITCH_KEY),
            (SWITCH_KEY, SWITCH_CERTIFICATE),
        ] {
            let error = settings(&[(given, "/etc/file.pem")]).unwrap_err();
            assert_eq!(error.0, [format!("{missing} must be given with {given}")]);
        }
        assert!(settings(&[(SWITCH_CA, "/etc/ca.pem")]).unwrap().switch_tls.has_files());
    }
}
