//! VAT ids of the European Union: the format and the check digits of each member state.

mod check_digits;

use std::fmt;
use std::str::FromStr;

use super::{Country, Invalid, Stored};

/// A well-formed VAT id of a member state, such as `NL123456782B90`. Whether it was issued, only VIES knows.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct VatId {
    prefix: &'static str,
    country: &'static str,
    number: String,
}

struct State {
    /// The first two letters of its ids: the country code, except for Greece.
    prefix: &'static str,
    country: &'static str,
    /// Its formats: `#` is a digit, `@` a letter, `*` either, `?` also + or *.
    forms: &'static [&'static str],
    has_valid_check_digits: fn(&str) -> bool,
}

macro_rules! states {
    ($($prefix:ident $country:ident $check:ident [$($form:literal),+];)*) => {
        &[$(State {
            prefix: stringify!($prefix),
            country: stringify!($country),
            forms: &[$($form),+],
            has_valid_check_digits: check_digits::$check,
        }),*]
    };
}

/// The member states. Northern Ireland's XI is for goods only, so it does not apply to voice services.
static STATES: &[State] = states! {
    AT AT austria ["U########"];
    BE BE belgium ["##########"];
    BG BG bulgaria ["#########", "##########"];
    CY CY cyprus ["########@"];
    CZ CZ czechia ["########", "#########", "##########"];
    DE DE germany ["#########"];
    DK DK denmark ["########"];
    EE EE estonia ["#########"];
    EL GR greece ["#########"];
    ES ES spain ["@#######@", "@########", "########@"];
    FI FI finland ["########"];
    FR FR france ["**#########"];
    HR HR croatia ["###########"];
    HU HU hungary ["########"];
    IE IE ireland ["#######@", "#######@@", "#?#####@"];
    IT IT italy ["###########"];
    LT LT lithuania ["#########", "############"];
    LU LU luxembourg ["########"];
    LV LV latvia ["###########"];
    MT MT malta ["########"];
    NL NL netherlands ["#########B##"];
    PL PL poland ["##########"];
    PT PT portugal ["#########"];
    RO RO romania ["##", "###", "####", "#####", "######", "#######", "########", "#########", "##########"];
    SE SE sweden ["############"];
    SI SI slovenia ["########"];
    SK SK slovakia ["##########"];
};

const REASON: &str = "must be a VAT id of an EU member state such as NL123456782B90";

impl VatId {
    /// The prefix of the id, by which VIES knows the member state: `EL` for Greece.
    pub fn prefix(&self) -> &'static str {
        self.prefix
    }

    /// The id without its prefix.
    pub fn number(&self) -> &str {
        &self.number
    }

    /// The member state that issues it.
    pub fn country(&self) -> Country {
        // Every country in the table parses; a test checks that.
        self.country.parse().unwrap_or(Country::UNKNOWN)
    }
}

/// Whether a country belongs to the EU for VAT. Monaco does, as part of France.
pub fn is_in_union(country: Country) -> bool {
    country.code() == "MC" || STATES.iter().any(|state| state.country == country.code())
}

impl FromStr for VatId {
    type Err = Invalid;

    /// Accepts spaces, dots, hyphens, slashes and lower case, as people write ids.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let plain: String = text
            .chars()
            .filter(|c| !matches!(c, ' ' | '.' | '-' | '/' | '\u{a0}'))
            .map(|c| c.to_ascii_uppercase())
            .collect();
        let read = || {
            let (prefix, number) = plain.split_at_checked(2)?;
            let state = STATES.iter().find(|state| state.prefix == prefix || state.country == prefix)?;
            // Belgian ids had nine digits until 2007; the leading zero is often left out.
            let number = match (state.prefix, number.len()) {
                ("BE", 9) => format!("0{number}"),
                _ => number.to_owned(),
            };
            let fits =
                state.forms.iter().any(|form| has_form(&number, form)) && (state.has_valid_check_digits)(&number);
            fits.then_some(VatId { prefix: state.prefix, country: state.country, number })
        };
        read().ok_or(Invalid::because(REASON))
    }
}

fn has_form(number: &str, form: &str) -> bool {
    number.len() == form.len()
        && number.bytes().zip(form.bytes()).all(|(byte, wanted)| match wanted {
            b'#' => byte.is_ascii_digit(),
            b'@' => byte.is_ascii_uppercase(),
            b'*' => byte.is_ascii_alphanumeric(),
            b'?' => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'*'),
            literal => byte == literal,
        })
}

impl fmt::Display for VatId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.prefix, self.number)
    }
}

impl Stored for VatId {
    type Raw = String;

    fn to_raw(&self) -> String {
        self.to_string()
    }

    fn from_raw(raw: String) -> Result<Self, Invalid> {
        raw.parse()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::prelude::*;

    use super::*;

    /// Ids published as examples or of well-known companies.
    const REAL: &[&str] = &[
        "ATU13585627",
        "BE0428759497",
        "BG175074752",
        "CY10259033P",
        "CZ25123891",
        "DE136695976",
        "DK13585628",
        "EE100931558",
        "EL094259216",
        "ESB58378431",
        "ES54362315K",
        "ESX2482300W",
        "FI20774740",
        "FR40303265045",
        "FR23334175221",
        "HR33392005961",
        "HU12892312",
        "IE6433435F",
        "IE6433435OA",
        "IE8D79739I",
        "IT00743110157",
        "LT119511515",
        "LT100001919017",
        "LU15027442",
        "LV40003521600",
        "MT11679112",
        "NL004495445B01",
        "NL123456782B90",
        "NL123456789B13",
        "PL8567346215",
        "PT501964843",
        "RO18547290",
        "SE123456789701",
        "SI50223054",
        "SK2022749619",
    ];

    #[test]
    fn ids_of_every_member_state_round_trip() {
        for text in REAL {
            let id: VatId = text.parse().unwrap_or_else(|_| panic!("{text}"));
            assert_eq!(id.to_string(), *text);
            assert_eq!(VatId::from_raw(id.to_raw()), Ok(id.clone()));
            assert!(is_in_union(id.country()), "{text}");
        }
        for state in STATES {
            assert!(REAL.iter().any(|id| id.starts_with(state.prefix)), "{} has no example", state.prefix);
            assert!(state.country.parse::<Country>().is_ok(), "{}", state.country);
        }
        assert_eq!(STATES.len(), 27);
    }

    #[test]
    fn one_wrong_digit_is_refused_in_every_member_state() {
        for text in REAL {
            let last = text.rfind(|c: char| c.is_ascii_digit()).unwrap();
            // The last two digits of Swedish and most Dutch ids are not part of the check.
            let last = if text.starts_with("SE") || text.starts_with("NL") { 9 } else { last };
            let mut wrong = (*text).to_owned();
            let digit = if &text[last..=last] == "9" { "4" } else { "9" };
            wrong.replace_range(last..=last, digit);
            assert!(wrong.parse::<VatId>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn greek_ids_begin_with_el_and_punctuation_is_ignored() {
        let greek: VatId = "gr 094.259.216".parse().unwrap();
        assert_eq!((greek.to_string().as_str(), greek.country().code()), ("EL094259216", "GR"));
        assert_eq!("BE 428.759.497".parse::<VatId>().unwrap().to_string(), "BE0428759497");
        assert_eq!("nl-1234.56.782.b90".parse::<VatId>().unwrap().to_string(), "NL123456782B90");
    }

    #[test]
    fn an_id_that_no_member_state_issues_is_refused() {
        for text in ["", "N", "NL", "123456782B90", "GB999999973", "XI123456789", "NL123456782A90", "DE12345678", "DEé"]
        {
            assert_eq!(text.parse::<VatId>(), Err(Invalid::because(REASON)), "{text}");
        }
    }

    #[test]
    fn the_eu_has_its_member_states_and_monaco() {
        let is = |code: &str| is_in_union(code.parse().unwrap());
        assert!(is("NL") && is("GR") && is("MC"));
        assert!(!is("GB") && !is("CH") && !is("NO") && !is("US") && !is_in_union(Country::UNKNOWN));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "([A-Z]{2})?[0-9A-Z+*.é-]{0,14}|\\PC*") {
            if let Ok(id) = text.parse::<VatId>() {
                prop_assert_eq!(id.to_string().parse(), Ok(id));
            }
        }
    }
}
