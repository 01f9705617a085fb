//! The secrets among the settings, and what makes one good enough.
//!
//! Outside a lab a secret is 32 random bytes or more, in hex or base64. Whether bytes are random cannot be seen, but a
//! sentence, a repetition and a short word can. A secret that is being replaced only has to be long: it may be the
//! reason for the rotation.

use std::collections::BTreeSet;

use data_encoding::{BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD, HEXLOWER_PERMISSIVE};

use super::SettingsReader;
use crate::crypto::secrets::ConfiguredSecrets;
use crate::crypto::switches::SwitchSecret;

const MIN_BYTES: usize = 32;
/// 32 random bytes have fewer distinct ones once in more than 10^12 times.
const MIN_DISTINCT_BYTES: usize = 20;
/// Fewer are no secret even in a lab.
const MIN_DISTINCT_CHARACTERS: usize = 8;
/// Of one edge, so that they can be rotated.
const MAX_PER_EDGE: usize = 2;
const MAX_EDGES: usize = 1000;

const EXPECTED: &str = "32 random bytes in hex or base64; `openssl rand -hex 32` generates them";

impl SettingsReader {
    pub(super) fn secrets(&mut self, is_lab: bool) -> ConfiguredSecrets {
        let is_good = if is_lab { is_long } else { is_random };
        ConfiguredSecrets {
            master: self.checked("TRUNKLINE_MASTER_SECRET", EXPECTED, is_good),
            master_previous: self.checked("TRUNKLINE_MASTER_SECRET_PREVIOUS", EXPECTED, is_long),
            jwt: self.checked("TRUNKLINE_JWT_SECRET", EXPECTED, is_good),
            jwt_previous: self.checked("TRUNKLINE_JWT_SECRET_PREVIOUS", EXPECTED, is_long),
            switch: self.checked("TRUNKLINE_SWITCH_SECRET", EXPECTED, is_good),
            switch_previous: self.checked("TRUNKLINE_SWITCH_SECRET_PREVIOUS", EXPECTED, is_long),
            switches: self.switch_secrets(is_good),
            clock: self.checked("TRUNKLINE_CLOCK_SECRET", EXPECTED, is_good),
            bootstrap: self.checked("TRUNKLINE_BOOTSTRAP_TOKEN", EXPECTED, is_good),
            backup_passphrase: self.checked(
                "TRUNKLINE_BACKUP_PASSPHRASE",
                "at least 12 characters",
                crate::crypto::secrets::is_passphrase,
            ),
        }
    }

    /// `edge-1:SECRET,edge-1:SECRET,edge-2:SECRET`.
    fn switch_secrets(&mut self, is_good: fn(&str) -> bool) -> Vec<SwitchSecret> {
        const NAME: &str = "TRUNKLINE_SWITCH_SECRETS";
        let secrets = self.list(NAME, "EDGE:SECRET, each secret 32 random bytes in hex or base64", |text| {
            let (edge, secret) = text.split_once(':')?;
            let edge = Some(edge.trim()).filter(|edge| !edge.is_empty() && edge.len() <= 64)?;
            is_good(secret).then(|| SwitchSecret { edge: Some(edge.to_owned()), secret: secret.to_owned() })
        });
        let names: BTreeSet<_> = secrets.iter().map(|secret| &secret.edge).collect();
        let is_crowded =
            |edge: &Option<String>| secrets.iter().filter(|secret| secret.edge == *edge).count() > MAX_PER_EDGE;
        if names.len() > MAX_EDGES || names.iter().any(|edge| is_crowded(edge)) {
            self.wrong(NAME, "at most two secrets for each of at most 1000 edges");
        }
        let distinct: BTreeSet<_> = secrets.iter().map(|secret| &secret.secret).collect();
        if distinct.len() < secrets.len() {
            self.wrong(NAME, "a different secret for every edge");
        }
        secrets
    }
}

fn is_long(secret: &str) -> bool {
    secret.len() >= MIN_BYTES && secret.bytes().collect::<BTreeSet<_>>().len() >= MIN_DISTINCT_CHARACTERS
}

/// Whether the text is hex or base64 of bytes that may be random.
fn is_random(secret: &str) -> bool {
    let hex = HEXLOWER_PERMISSIVE.decode(secret.as_bytes()).ok();
    // A passphrase without spaces is base64 too, but hardly one with letters of both cases.
    let has_both_cases =
        secret.contains(|c: char| c.is_ascii_lowercase()) && secret.contains(|c: char| c.is_ascii_uppercase());
    let base64 = || {
        let encodings = [BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD];
        encodings.iter().find_map(|encoding| encoding.decode(secret.as_bytes()).ok()).filter(|_| has_both_cases)
    };
    let distinct = |bytes: &[u8]| bytes.iter().collect::<BTreeSet<_>>().len();
    let is_random = |bytes: Vec<u8>| bytes.len() >= MIN_BYTES && distinct(&bytes) >= MIN_DISTINCT_BYTES;
    !repeats(secret.as_bytes()) && hex.or_else(base64).is_some_and(is_random)
}

/// Whether the text is a shorter one again and again.
fn repeats(text: &[u8]) -> bool {
    (1..=text.len() / 2).any(|period| text.iter().zip(&text[period..]).all(|(one, next)| one == next))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::Settings;
    use db::Entropy;
    use proptest::prelude::*;

    #[test]
    fn random_bytes_are_accepted_in_every_encoding() {
        for _ in 0..2000 {
            let bytes: [u8; 32] = Entropy.bytes();
            let hex = HEXLOWER_PERMISSIVE.encode(&bytes);
            for text in [hex.to_uppercase(), hex, BASE64.encode(&bytes), BASE64URL_NOPAD.encode(&bytes)] {
                assert!(is_random(&text), "{text}");
            }
        }
        assert!(is_random(&Entropy.token()), "a generated secret may become a setting");
    }

    #[test]
    fn sentences_and_repetitions_are_refused() {
        for text in [
            "correct horse battery staple correct horse battery staple",
            "correcthorsebatterystaplecorrecthorsebatterystaple",
            "SecretSecretSecretSecretSecretSecretSecretSecretSecretSecret",
            &"deadbeef".repeat(8),
            &"0".repeat(64),
            "0123456789abcdef0123456789abcdef",
            "jwt-secret-of-the-test-world-0123456789abcdefg",
        ] {
            assert!(!is_random(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_word_repeated_is_refused(word in "[a-zA-Z0-9]{1,12}") {
            let text: String = word.chars().cycle().take(64).collect();
            prop_assert!(!is_random(&text), "{text}");
        }
    }

    fn settings(names: &[(&str, &str)]) -> Result<Settings, Vec<String>> {
        let names = names.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Settings::from_names(names, BTreeMap::new()).map_err(|error| error.0)
    }

    #[test]
    fn only_a_lab_accepts_a_sentence_and_a_rotation_may_leave_one() {
        let weak = "a sentence of more than thirty-two characters";
        let strong = "Zb0cCq3rJ6yqfWq7m3m1m4l8pQm2o0wQm0z9e1b5s8c=";
        let real = [
            ("TRUNKLINE_PAYMENTS", "revolut"),
            ("TRUNKLINE_REVOLUT_KEY", "sk_0123456789abcdefghij"),
            ("TRUNKLINE_REVOLUT_WEBHOOK_SECRET", "wsk_0123456789abcdefghij"),
        ];
        for name in [
            "TRUNKLINE_MASTER_SECRET",
            "TRUNKLINE_JWT_SECRET",
            "TRUNKLINE_SWITCH_SECRET",
            "TRUNKLINE_CLOCK_SECRET",
            "TRUNKLINE_BOOTSTRAP_TOKEN",
        ] {
            settings(&[(name, weak)]).unwrap();
            let refused = settings(&[&real[..], &[(name, weak)]].concat()).unwrap_err();
            assert!(
                refused.len() == 1 && refused[0].starts_with(name) && !refused[0].contains("sentence"),
                "{refused:?}"
            );
            settings(&[&real[..], &[(name, strong)]].concat()).unwrap();
        }
        for name in
            ["TRUNKLINE_MASTER_SECRET_PREVIOUS", "TRUNKLINE_JWT_SECRET_PREVIOUS", "TRUNKLINE_SWITCH_SECRET_PREVIOUS"]
        {
            settings(&[&real[..], &[(name, weak)]].concat()).unwrap();
        }
        assert!(settings(&[("TRUNKLINE_MASTER_SECRET", "short")]).is_err());
    }

    #[test]
    fn an_edge_has_two_secrets_at_most_and_none_of_another() {
        let secret =
            |number: u8| HEXLOWER_PERMISSIVE.encode(&std::array::from_fn::<u8, 32, _>(|at| number ^ (at as u8 * 7)));
        let given = |text: String| settings(&[("TRUNKLINE_SWITCH_SECRETS", text.as_str())]);
        let two = given(format!("edge-1:{},edge-1:{}, edge-2:{}", secret(1), secret(2), secret(3))).unwrap();
        assert_eq!(two.secrets.switches.len(), 3);
        assert!(given(format!("e:{},e:{},e:{}", secret(1), secret(2), secret(3))).is_err());
        assert!(given(format!("edge-1:{},edge-2:{}", secret(1), secret(1))).is_err());
        assert!(given(secret(1)).is_err());
        assert!(given(format!(":{}", secret(1))).is_err());
    }
}
