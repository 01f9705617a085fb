//! A password that a user chooses.
//!
//! Refused are the passwords that attackers try first: a filter of 470,000 common and breached ones is compiled in, which
//! `tools/refresh-common-passwords` writes. It is a Bloom filter, so it knows each of them and takes about one in 5,000
//! others for one. Letter case and the usual substitutions (`p@ssw0rd`) do not count.

use std::borrow::Cow;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};

use super::{Email, Invalid, Secret, scalar};

/// Of a size that is a power of two.
static FILTER: &[u8] = include_bytes!("../data/common_passwords.filter");
const HASHES: u64 = 12;

/// Characters that a password must have besides the address or name of its user.
const MIN_OWN_CHARS: usize = 8;
/// Shorter words are in passwords by chance.
const MIN_WORD_CHARS: usize = 3;

pub const COMMON_REASON: &str = "is too common: it is on public lists of breached passwords";
pub const OWN_WORDS_REASON: &str = "must be more than your email address or company name";

/// A password of `MIN` to `MAX` characters that is not a common one.
#[derive(Clone, Debug)]
pub struct NewPassword<const MIN: usize, const MAX: usize>(Secret<MIN, MAX>);

impl<const MIN: usize, const MAX: usize> NewPassword<MIN, MAX> {
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// Whether it is little more than the email address of its user or the name of the company.
    pub fn repeats(&self, email: Option<&Email>, company: Option<&str>) -> bool {
        let address = email.map_or("", Email::as_str);
        let (local, domain) = address.split_once('@').unwrap_or_default();
        let label = domain.split('.').next().unwrap_or_default();
        let whole = squeeze(self.expose());
        let mut rest = whole.clone();
        for word in [address, company.unwrap_or_default(), local, label].map(squeeze) {
            if word.chars().count() >= MIN_WORD_CHARS {
                rest = rest.replace(&word, "");
            }
        }
        rest.chars().count() < MIN_OWN_CHARS.min(whole.chars().count())
    }
}

impl<const MIN: usize, const MAX: usize> FromStr for NewPassword<MIN, MAX> {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let secret = text.parse()?;
        if is_common(text) { Err(Invalid::because(COMMON_REASON)) } else { Ok(NewPassword(secret)) }
    }
}

impl<'de, const MIN: usize, const MAX: usize> Deserialize<'de> for NewPassword<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        scalar::text(deserializer, || Invalid::because("must be text"))
    }
}

impl<const MIN: usize, const MAX: usize> JsonSchema for NewPassword<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("NewPassword{MIN}To{MAX}").into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Secret::<MIN, MAX>::json_schema(generator)
    }
}

/// Lower case, with the letters that look-alikes stand for. `l` and `1` both become `i`.
fn fold(text: &str) -> String {
    let letter = |c| match c {
        '0' => 'o',
        '1' | '!' | '|' | 'l' => 'i',
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' | '+' => 't',
        other => other,
    };
    text.to_lowercase().chars().map(letter).collect()
}

/// Folded, without spaces and punctuation.
fn squeeze(text: &str) -> String {
    fold(text).chars().filter(|c| c.is_alphanumeric()).collect()
}

fn is_common(password: &str) -> bool {
    let folded = fold(password);
    // FNV-1a, then double hashing.
    let state = folded
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |state, byte| (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let (first, step) = (mix(state), mix(state ^ 0x9e37_79b9_7f4a_7c15) | 1);
    (0..HASHES).all(|number| is_set(first.wrapping_add(number.wrapping_mul(step))))
}

fn is_set(position: u64) -> bool {
    let bit = position & (FILTER.len() as u64 * 8 - 1);
    let byte = usize::try_from(bit >> 3).ok().and_then(|at| FILTER.get(at));
    byte.is_some_and(|byte| byte >> (bit & 7) & 1 == 1)
}

/// The finalizer of splitmix64.
const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]
    use super::*;

    fn parse(text: &str) -> Result<NewPassword<8, 200>, Invalid> {
        text.parse()
    }

    #[test]
    fn common_passwords_are_refused_however_they_are_spelt() {
        assert!(FILTER.len().is_power_of_two());
        for common in [
            "password",
            "PASSWORD",
            "P@ssw0rd",
            "p4$$w0rd",
            "12345678",
            "123456789",
            "qwertyuiop",
            "iloveyou",
            "baseball1",
            "trustno1",
            "letmein123",
            "administrator",
            "Password123",
            "q1w2e3r4t5y6",
        ] {
            let refused = parse(common).map(|_| common);
            assert_eq!(refused, Err(Invalid::because(COMMON_REASON)), "{common}");
        }
        assert_eq!(parse("short").map(|_| ()), "short".parse::<Secret<8, 200>>().map(|_| ()));
    }

    #[test]
    fn few_other_passwords_are_refused_by_mistake() {
        let made = 100_000_u64;
        let mistakes = (0..made).filter(|number| is_common(&format!("{:016x}", mix(*number)))).count();
        println!("{mistakes} of {made} random passwords are refused by mistake");
        assert!(mistakes < 60, "{mistakes}");
        for good in ["correct horse battery staple", "an entirely new secret", "Zuiderzeewerken-1932-polder"] {
            assert!(parse(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn an_address_or_a_company_is_no_password() {
        let email: Email = "petra@prospect.example".parse().unwrap();
        let repeats = |text: &str| parse(text).unwrap().repeats(Some(&email), Some("Noord-Telecom BV"));
        for own in [
            "petra@prospect.example",
            "Petra-Prospect",
            "NoordTelecomBV",
            "noord telecom bv 2026",
            "p3tr4-2026!",
            "Prospect#99",
        ] {
            assert!(repeats(own), "{own}");
        }
        for other in ["petra rides a green bicycle", "correct horse battery staple", "!!!!////----####"] {
            assert!(!repeats(other), "{other}");
        }
    }
}
