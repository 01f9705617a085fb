//! Where the operations port may listen. Switches send it their secret over plain HTTP, so off loopback it needs a
//! setting that accepts that, such as behind a tunnel or a proxy with TLS.

use std::net::SocketAddr;

use super::SettingsReader;

const PLAIN_HTTP: &str = "TRUNKLINE_OPS_PLAIN_HTTP";

impl SettingsReader {
    pub(super) fn check_ops_listen(&mut self, listen: SocketAddr) {
        if !self.switch(PLAIN_HTTP, false) && !listen.ip().to_canonical().is_loopback() {
            self.wrong("TRUNKLINE_OPS_LISTEN", &format!("on loopback unless {PLAIN_HTTP}=on is given"));
        }
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
    fn off_loopback_the_operations_port_needs_a_setting() {
        let public = [("TRUNKLINE_OPS_LISTEN", "0.0.0.0:9090"), ("TRUNKLINE_LAB", "on")];
        let error = settings(&public).unwrap_err();
        assert!(error.0.len() == 1 && error.0[0].starts_with("TRUNKLINE_OPS_LISTEN must be on loopback"), "{error}");
        settings(&[&public[..], &[(PLAIN_HTTP, "on")]].concat()).unwrap();
    }
}
