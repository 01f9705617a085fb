//! Countries of ISO 3166-1.

use std::fmt;
use std::str::FromStr;

use super::text_form::{TextForm, impl_serde_as_text};
use super::{Invalid, Stored};

/// Common names of the countries whose ISO 3166-1 short name does not belong in an address, such as "Netherlands (Kingdom
/// of the)".
const COMMON_NAMES: [(&str, &str); 27] = [
    ("BN", "Brunei"),
    ("BO", "Bolivia"),
    ("CC", "Cocos Islands"),
    ("CD", "DR Congo"),
    ("CG", "Republic of the Congo"),
    ("FK", "Falkland Islands"),
    ("FM", "Micronesia"),
    ("GB", "United Kingdom"),
    ("IR", "Iran"),
    ("KP", "North Korea"),
    ("KR", "South Korea"),
    ("LA", "Laos"),
    ("MD", "Moldova"),
    ("MF", "Saint Martin"),
    ("NL", "Netherlands"),
    ("PS", "Palestine"),
    ("RU", "Russia"),
    ("SX", "Sint Maarten"),
    ("SY", "Syria"),
    ("TW", "Taiwan"),
    ("TZ", "Tanzania"),
    ("US", "United States"),
    ("VA", "Vatican City"),
    ("VE", "Venezuela"),
    ("VG", "British Virgin Islands"),
    ("VI", "U.S. Virgin Islands"),
    ("VN", "Vietnam"),
];

/// A country, by its two-letter code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Country(&'static str);

impl Country {
    /// The country is not known yet. Responses may contain it, requests may not.
    pub const UNKNOWN: Country = Country("ZZ");

    pub const fn code(self) -> &'static str {
        self.0
    }

    /// Common English name, as it is printed in an address.
    pub fn name(self) -> &'static str {
        let common = COMMON_NAMES.iter().find(|(code, _)| *code == self.0).map(|(_, name)| *name);
        common.or_else(|| rust_iso3166::from_alpha2(self.0).map(|known| known.name)).unwrap_or(self.0)
    }
}

impl TextForm for Country {
    const DESCRIPTION: &'static str =
        "ISO 3166-1 alpha-2 country code; ZZ in a response if the country is not known yet.";
    const FORMAT: &'static str = "country";
    const REASON: &'static str = "must be an ISO 3166-1 country code such as NL";
    const PATTERN: &'static str = "^[A-Z]{2}$";
    const EXAMPLE: &'static str = "NL";
}

impl FromStr for Country {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        rust_iso3166::from_alpha2(text).map(|known| Country(known.alpha2)).ok_or_else(Self::invalid)
    }
}

impl fmt::Display for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl_serde_as_text!(Country);

impl Stored for Country {
    type Raw = String;

    fn to_raw(&self) -> String {
        self.0.to_owned()
    }

    fn from_raw(raw: String) -> Result<Self, Invalid> {
        if raw == Self::UNKNOWN.0 { Ok(Self::UNKNOWN) } else { raw.parse() }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn every_country_round_trips_through_json_and_its_column() {
        assert_eq!(rust_iso3166::ALL_ALPHA2.len(), 249);
        for code in rust_iso3166::ALL_ALPHA2 {
            let country: Country = code.parse().unwrap();
            assert_eq!(country.to_string(), *code);
            assert_eq!(serde_json::from_value::<Country>(serde_json::json!(country)).unwrap(), country);
            assert_eq!(Country::from_raw(country.to_raw()), Ok(country));
        }
    }

    #[test]
    fn names_are_the_common_ones() {
        let name = |code: &str| code.parse::<Country>().unwrap().name();
        let expected = [
            ("NL", "Netherlands"),
            ("GB", "United Kingdom"),
            ("US", "United States"),
            ("KR", "South Korea"),
            ("VN", "Vietnam"),
            ("DE", "Germany"),
        ];
        for (code, common) in expected {
            assert_eq!(name(code), common);
        }
        for (code, _) in COMMON_NAMES {
            assert!(code.parse::<Country>().is_ok(), "{code}");
        }
        for code in rust_iso3166::ALL_ALPHA2 {
            assert!(!name(code).contains(['(', ')']), "{}", name(code));
        }
        assert_eq!(Country::UNKNOWN.name(), "ZZ");
    }

    #[test]
    fn an_unknown_country_code_is_refused() {
        for text in ["", "nl", "Nl", "N", "NLD", " NL", "NL\0", "AA", "XX", "UK", "EU", "ZZ"] {
            assert_eq!(text.parse::<Country>(), Err(Country::invalid()), "{text}");
        }
    }

    #[test]
    fn the_unknown_country_is_stored_and_sent_but_not_accepted() {
        assert_eq!(Country::from_raw(Country::UNKNOWN.to_raw()), Ok(Country::UNKNOWN));
        let sent = serde_json::to_value(Country::UNKNOWN).unwrap();
        assert_eq!(sent, "ZZ");
        assert_eq!(serde_json::from_value::<Country>(sent).unwrap_err().to_string(), Country::REASON);
    }
}
