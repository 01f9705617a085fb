//! The settings of the seller on invoices and of VAT.

use super::SettingsReader;
use crate::outside::vies::VatChecks;
use values::{Country, VatId, is_in_union};

const HOME: &str = "TRUNKLINE_HOME_COUNTRY";
const RATE: &str = "TRUNKLINE_HOME_VAT_PERCENT";
const VAT_ID: &str = "TRUNKLINE_SELLER_VAT_ID";
const VIES: &str = "https://ec.europa.eu/taxation_customs/vies/rest-api";

/// The seller, its VAT rate, and how VAT ids are checked.
#[derive(Clone, Debug)]
pub struct TaxSettings {
    pub home: Country,
    /// The home country's standard VAT rate in basis points (hundredths of a percent).
    pub home_rate_basis_points: i64,
    pub checks: VatChecks,
    pub vies_url: String,
    pub seller: Seller,
    /// Payment term of invoices in days.
    pub due_days: usize,
}

/// The operator as it appears on invoices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seller {
    pub name: String,
    pub street: String,
    pub postal_code: String,
    pub city: String,
    pub vat_id: Option<VatId>,
    /// Its company registration number.
    pub registration: Option<String>,
}

impl SettingsReader {
    pub(super) fn tax(&mut self) -> TaxSettings {
        let home = self.home();
        TaxSettings {
            home,
            home_rate_basis_points: self.home_rate(home),
            checks: self.parsed("TRUNKLINE_VAT_CHECKS", "offline or vies", VatChecks::Offline),
            vies_url: self
                .checked("TRUNKLINE_VIES_URL", "an http(s) URL", is_base_url)
                .unwrap_or_else(|| VIES.to_owned()),
            seller: self.seller(home),
            due_days: self.within("TRUNKLINE_INVOICE_DUE_DAYS", 0..=365, 14),
        }
    }

    fn home(&mut self) -> Country {
        let given = self.text(HOME).unwrap_or_else(|| "NL".to_owned());
        match given.parse::<Country>() {
            Ok(home) if is_in_union(home) => home,
            _ => {
                self.wrong(HOME, "a member state of the EU, such as NL");
                Country::UNKNOWN
            }
        }
    }

    /// Only the Dutch rate has a default.
    fn home_rate(&mut self, home: Country) -> i64 {
        let Some(text) = self.text(RATE) else {
            if home.code() != "NL" {
                self.wrong(RATE, "given when TRUNKLINE_HOME_COUNTRY is not NL");
            }
            return 2100;
        };
        let rate = basis_points(&text).filter(|rate| (0..=5000).contains(rate));
        rate.unwrap_or_else(|| {
            self.wrong(RATE, "a percentage such as 21 or 25.5");
            0
        })
    }

    fn seller(&mut self, home: Country) -> Seller {
        let mut text = |name: &str, default: &str| self.text(name).unwrap_or_else(|| default.to_owned());
        let name = text("TRUNKLINE_SELLER_NAME", "Trunkline");
        let street = text("TRUNKLINE_SELLER_STREET", "");
        let postal_code = text("TRUNKLINE_SELLER_POSTAL_CODE", "");
        let city = text("TRUNKLINE_SELLER_CITY", "");
        let registration = self.text("TRUNKLINE_SELLER_REGISTRATION");
        let given = self.text(VAT_ID);
        let vat_id = given.as_deref().and_then(|id| id.parse().ok()).filter(|id: &VatId| id.country() == home);
        if given.is_some() && vat_id.is_none() {
            self.wrong(VAT_ID, "a VAT id of the home country");
        }
        Seller { name, street, postal_code, city, vat_id, registration }
    }
}

/// Parses a percentage: `25.5` is 2550.
fn basis_points(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 3 || fraction.len() > 2 || !digits(whole) || !digits(fraction) {
        return None;
    }
    format!("{whole}{fraction:0<2}").parse().ok()
}

fn is_base_url(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    host.is_some_and(|rest| !rest.is_empty() && !rest.ends_with('/') && !rest.contains(['?', '#', '@', ' ']))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::{ConfigError, Settings};
    use super::*;

    fn tax(names: &[(&str, &str)]) -> Result<TaxSettings, ConfigError> {
        let names = names.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Ok(Settings::from_names(names, BTreeMap::new())?.tax)
    }

    #[test]
    fn a_dutch_operator_needs_no_tax_settings() {
        let tax = tax(&[]).unwrap();
        assert_eq!((tax.home.code(), tax.home_rate_basis_points, tax.checks), ("NL", 2100, VatChecks::Offline));
        assert_eq!((tax.seller.vat_id, tax.due_days), (None, 14));
    }

    #[test]
    fn an_operator_elsewhere_sets_its_vat_rate() {
        let finnish = [(HOME, "FI"), (RATE, "25.5"), (VAT_ID, "FI 20774740"), ("TRUNKLINE_VAT_CHECKS", "vies")];
        let tax = tax(&finnish).unwrap();
        assert_eq!((tax.home.code(), tax.home_rate_basis_points, tax.checks), ("FI", 2550, VatChecks::Vies));
        assert_eq!(tax.seller.vat_id.map(|id| id.to_string()).as_deref(), Some("FI20774740"));
    }

    #[test]
    fn inconsistent_tax_settings_are_rejected() {
        for names in [
            vec![(HOME, "FI")],
            vec![(HOME, "US"), (RATE, "0")],
            vec![(RATE, "21%")],
            vec![(RATE, "200")],
            vec![(VAT_ID, "DE136695976")],
            vec![("TRUNKLINE_VAT_CHECKS", "maybe")],
            vec![("TRUNKLINE_VIES_URL", "ftp://vies")],
        ] {
            assert_eq!(tax(&names).unwrap_err().0.len(), 1, "{names:?}");
        }
    }
}
