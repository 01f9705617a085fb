//! The settings of the DID supplier. URL and token are required with `http` and must not be set without it.

use super::{SettingsReader, is_url};
use crate::outside::did_supplier::{DidSupplierKind, HttpDidSupplierSettings};

const KIND: &str = "TRUNKLINE_DID_SUPPLIER";
const URL: &str = "TRUNKLINE_DID_SUPPLIER_URL";
const TOKEN: &str = "TRUNKLINE_DID_SUPPLIER_TOKEN";

impl SettingsReader {
    /// `Some` exactly when the supplier is `http`.
    pub(super) fn did_supplier(&mut self) -> Option<HttpDidSupplierSettings> {
        let kind = self.parsed(KIND, "inventory or http", DidSupplierKind::Inventory);
        let url = self.checked(URL, "an http(s) URL", is_url);
        let token = self.checked(TOKEN, "printable ASCII", is_token);
        if kind == DidSupplierKind::Inventory {
            if url.is_some() || token.is_some() {
                self.wrong(KIND, "http when another TRUNKLINE_DID_SUPPLIER_ setting is given");
            }
            return None;
        }
        for (name, given) in [(URL, &url), (TOKEN, &token)] {
            if given.is_none() {
                self.wrong(name, "given when TRUNKLINE_DID_SUPPLIER is http");
            }
        }
        let url = url?.trim_end_matches('/').to_owned();
        Some(HttpDidSupplierSettings { url, token: token? })
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

    fn did_supplier(names: &[(&str, &str)]) -> Result<Option<HttpDidSupplierSettings>, ConfigError> {
        let names = names.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Ok(Settings::from_names(names, BTreeMap::new())?.did_supplier)
    }

    #[test]
    fn a_supplier_needs_its_url_and_token() {
        assert_eq!(did_supplier(&[]).unwrap(), None);
        let complete = [(KIND, "http"), (URL, "https://supplier.example/v2/"), (TOKEN, "hunter2")];
        assert_eq!(did_supplier(&complete).unwrap().unwrap().url, "https://supplier.example/v2");
        for part in [&complete[..1], &complete[..2], &complete[1..], &[complete[0], complete[2]]] {
            let error = did_supplier(part).unwrap_err();
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }
}
