//! A lab is an installation without real money or strangers: sandbox payments, and nothing that listens off loopback, or
//! whatever `TRUNKLINE_LAB=on` declares to be one. Some rules are relaxed there by default; each has its own setting.
//! An installation that others can reach and that is no lab refuses the settings that suit only one.

use std::net::{IpAddr, SocketAddr};

use super::{Settings, SettingsReader};
use crate::outside::payments::Provider;

const LAB: &str = "TRUNKLINE_LAB";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabSettings {
    pub is_lab: bool,
    /// Whether `TRUNKLINE_LAB` declares it, so that others may reach it.
    pub is_declared: bool,
}

impl SettingsReader {
    pub(super) fn lab(&mut self, payments: Provider, is_exposed: bool) -> LabSettings {
        let is_declared = self.switch(LAB, false);
        LabSettings { is_lab: is_declared || (payments == Provider::Sandbox && !is_exposed), is_declared }
    }
}

/// Whether others than this machine can reach the installation: a listener or the public URL is not on loopback.
pub(super) fn is_exposed(listeners: [SocketAddr; 2], public_url: Option<&str>) -> bool {
    listeners.iter().any(|address| !address.ip().to_canonical().is_loopback())
        || public_url.is_some_and(|url| !is_loopback_url(url))
}

fn is_loopback_url(url: &str) -> bool {
    let Some(host) = reqwest::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)) else {
        return false;
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

/// What only a lab may have, as errors. Empty for one.
pub(super) fn refused_outside(settings: &Settings) -> Vec<String> {
    if settings.lab.is_declared || !is_exposed([settings.listen, settings.ops_listen], settings.public_url.as_deref()) {
        return Vec::new();
    }
    let is_plain = |url: Option<&str>| url.is_some_and(|url| url.starts_with("http://"));
    let plain_urls = [
        ("TRUNKLINE_REVOLUT_URL", settings.revolut.as_ref().map(|revolut| revolut.url.as_str())),
        ("TRUNKLINE_DID_SUPPLIER_URL", settings.did_supplier.as_ref().map(|supplier| supplier.url.as_str())),
        ("TRUNKLINE_FX_URL", settings.fx_url.as_deref()),
        ("TRUNKLINE_VIES_URL", Some(settings.tax.vies_url.as_str())),
    ];
    let lab_only = [
        (
            settings.payments == Provider::Sandbox,
            "TRUNKLINE_PAYMENTS must not be sandbox: anyone could pay with a test card",
        ),
        (settings.test_clock, "TRUNKLINE_TEST_CLOCK must be off"),
        (!settings.rate_limits, "TRUNKLINE_RATE_LIMITS must be on"),
        (settings.allow_private_ips, "TRUNKLINE_ALLOW_PRIVATE_IPS must be off"),
    ];
    let wrong = lab_only.into_iter().filter(|(is_set, _)| *is_set).map(|(_, error)| error.to_owned());
    let plain =
        plain_urls.into_iter().filter(|(_, url)| is_plain(*url)).map(|(name, _)| format!("{name} must be https"));
    wrong
        .chain(plain)
        .map(|error| format!("{error} where others can reach the service; {LAB}=on declares a lab"))
        .collect()
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

    const REVOLUT: [(&str, &str); 3] = [
        ("TRUNKLINE_PAYMENTS", "revolut"),
        ("TRUNKLINE_REVOLUT_KEY", "sk_0123456789abcdefghij"),
        ("TRUNKLINE_REVOLUT_WEBHOOK_SECRET", "wsk_0123456789abcdefghij"),
    ];

    #[test]
    fn sandbox_payments_on_loopback_are_a_lab() {
        for public_url in ["http://localhost:8080", "http://127.0.0.1", "https://[::1]:8443", "http://api.localhost"] {
            let settings = settings(&[("TRUNKLINE_PUBLIC_URL", public_url)]).unwrap();
            assert!(
                settings.lab.is_lab && !settings.require_team_2fa && !settings.require_verified_email,
                "{public_url}"
            );
            assert!(!settings.allow_list_proof);
        }
        let real = settings(&REVOLUT).unwrap();
        assert!(!real.lab.is_lab && real.require_team_2fa && real.require_verified_email && real.allow_list_proof);
        let relaxed = settings(&[&REVOLUT[..], &[("TRUNKLINE_REQUIRE_TEAM_2FA", "off")]].concat()).unwrap();
        assert!(!relaxed.require_team_2fa && relaxed.require_verified_email);
    }

    #[test]
    fn what_others_can_reach_refuses_the_settings_of_a_lab() {
        for exposed in [
            ("TRUNKLINE_LISTEN", "0.0.0.0:8080"),
            ("TRUNKLINE_PUBLIC_URL", "https://voice.example"),
            ("TRUNKLINE_PUBLIC_URL", "https://127.0.0.1.voice.example"),
            ("TRUNKLINE_PUBLIC_URL", "https://localhost.example"),
        ] {
            let error = settings(&[exposed]).unwrap_err();
            assert_eq!(error.0.len(), 1, "{exposed:?}: {error}");
            assert!(error.0[0].starts_with("TRUNKLINE_PAYMENTS must not be sandbox"), "{error}");
            settings(&[&REVOLUT[..], &[exposed]].concat()).unwrap();
            assert!(settings(&[exposed, (LAB, "true")]).unwrap().lab.is_lab);
        }
        let public = ("TRUNKLINE_LISTEN", "192.0.2.1:443");
        for (name, value) in [
            ("TRUNKLINE_RATE_LIMITS", "off"),
            ("TRUNKLINE_ALLOW_PRIVATE_IPS", "on"),
            ("TRUNKLINE_REVOLUT_URL", "http://pay.example"),
            ("TRUNKLINE_FX_URL", "http://fx.example/daily"),
            ("TRUNKLINE_VIES_URL", "http://vies.example"),
        ] {
            let names = [&REVOLUT[..], &[public, (name, value)]].concat();
            let error = settings(&names).unwrap_err();
            assert!(error.0.len() == 1 && error.0[0].starts_with(name), "{error}");
            settings(&[&names[..], &[(LAB, "on")]].concat()).unwrap();
        }
    }
}
