//! The settings of the carrier that numbers come from. They belong together: when it has an API they hold, otherwise none
//! may be set.

use super::{Reading, is_url};
use crate::outside::did_supplier::{Carrier, HttpCarrierSettings};

const CARRIER: &str = "TRUNKLINE_CARRIER";
const URL: &str = "TRUNKLINE_CARRIER_URL";
const TOKEN: &str = "TRUNKLINE_CARRIER_TOKEN";

impl Reading {
    /// Present exactly when the carrier has an API.
    pub(super) fn carrier(&mut self) -> Option<HttpCarrierSettings> {
        let carrier = self.parsed(CARRIER, "stock or http", Carrier::Stock);
        let url = self.checked(URL, "an http(s) address", is_url);
        let token = self.checked(TOKEN, "printable ASCII", is_token);
        if carrier == Carrier::Stock {
            if url.is_some() || token.is_some() {
                self.wrong(CARRIER, "http when another TRUNKLINE_CARRIER_ setting is given");
            }
            return None;
        }
        for (name, given) in [(URL, &url), (TOKEN, &token)] {
            if given.is_none() {
                self.wrong(name, "given when the carrier has an API");
            }
        }
        let url = url?.trim_end_matches('/').to_owned();
        Some(HttpCarrierSettings { url, token: token? })
    }
}

fn is_token(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::{ConfigError, Settings};

    fn carrier(names: &[(&str, &str)]) -> Result<Option<HttpCarrierSettings>, ConfigError> {
        let names = names.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Ok(Settings::from_names(names, BTreeMap::new())?.carrier)
    }

    #[test]
    fn numbers_are_our_own_unless_a_carrier_is_named_whole() {
        assert_eq!(carrier(&[]).unwrap(), None);
        let whole = [(CARRIER, "http"), (URL, "https://carrier.example/v2/"), (TOKEN, "hunter2")];
        assert_eq!(carrier(&whole).unwrap().unwrap().url, "https://carrier.example/v2");
        for part in [&whole[..1], &whole[..2], &whole[1..], &[whole[0], whole[2]]] {
            let error = carrier(part).unwrap_err();
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }
}
