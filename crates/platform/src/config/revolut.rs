//! The settings of Revolut. Key and webhook secret are required with `TRUNKLINE_PAYMENTS=revolut`; otherwise none may
//! be set.

use super::{SettingsReader, is_origin};
use crate::outside::payments::Provider;
use crate::outside::payments::revolut::RevolutSettings;

const URL: &str = "TRUNKLINE_REVOLUT_URL";
const KEY: &str = "TRUNKLINE_REVOLUT_KEY";
const WEBHOOK_SECRET: &str = "TRUNKLINE_REVOLUT_WEBHOOK_SECRET";

const LIVE_URL: &str = "https://merchant.revolut.com";

impl SettingsReader {
    pub(super) fn revolut(&mut self, payments: Provider) -> Option<RevolutSettings> {
        let url = self.checked(URL, "an http(s) origin without a path", is_origin);
        let [key, webhook_secret] =
            [KEY, WEBHOOK_SECRET].map(|name| self.checked(name, "at least 20 printable characters", is_secret));
        if payments != Provider::Revolut {
            if [&url, &key, &webhook_secret].iter().any(|given| given.is_some()) {
                self.wrong("TRUNKLINE_PAYMENTS", "revolut when a TRUNKLINE_REVOLUT_ setting is given");
            }
            return None;
        }
        for (name, given) in [(KEY, &key), (WEBHOOK_SECRET, &webhook_secret)] {
            if given.is_none() {
                self.wrong(name, "given when TRUNKLINE_PAYMENTS is revolut");
            }
        }
        let url = url.unwrap_or_else(|| LIVE_URL.to_owned());
        Some(RevolutSettings { url, key: key?, webhook_secret: webhook_secret? })
    }
}

/// With a weak webhook secret anyone could forge webhooks.
fn is_secret(text: &str) -> bool {
    text.len() >= 20 && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use crate::config::{ConfigError, Settings};

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
    fn revolut_needs_a_key_and_a_secret_and_shows_neither() {
        let revolut = settings(&REVOLUT).unwrap().revolut.unwrap();
        assert_eq!(revolut.url, super::LIVE_URL);
        assert!(!format!("{revolut:?}").contains("0123456789"));
        for left_out in 1..3 {
            let names: Vec<_> =
                REVOLUT.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, name)| *name).collect();
            assert!(settings(&names).is_err());
        }
    }

    #[test]
    fn revolut_settings_without_revolut_are_rejected() {
        assert!(settings(&REVOLUT[1..]).is_err());
        assert!(settings(&[("TRUNKLINE_REVOLUT_URL", "https://sandbox-merchant.revolut.com")]).is_err());
    }

    #[test]
    fn a_short_webhook_secret_is_rejected() {
        let mut names = REVOLUT;
        names[2].1 = "wsk_short";
        assert!(settings(&names).is_err());
    }
}
