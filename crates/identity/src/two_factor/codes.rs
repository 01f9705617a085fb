//! TOTP codes (RFC 6238), recovery codes and the enrolment QR code, as pure functions.

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::BASE32_NOPAD;
use qrcode::QrCode;
use qrcode::render::svg;
use totp_rs::{Builder, Secret, Totp};

use super::types::Enrollment;
use api::problem::Problem;
use db::Entropy;
use values::{Email, Time, UserId};

pub const SEED_BYTES: usize = 20;
const STEP_SECONDS: u64 = 30;
/// Codes of the step before and after are accepted too, because clocks differ.
const SKEW_STEPS: u16 = 1;
const RECOVERY_CODES: usize = 10;
const RECOVERY_BYTES: usize = 15;
const ISSUER: &str = "Trunkline";

fn totp(seed: &[u8], account: &str) -> Result<Totp, Problem> {
    Builder::new()
        .with_secret(Secret::from(seed))
        .with_digits(6)
        .with_skew(SKEW_STEPS)
        .with_step_duration(STEP_SECONDS)
        .with_account_name(account)
        .with_issuer(Some(ISSUER))
        .build()
        .map_err(|error| Problem::internal(error.to_string()))
}

/// The time step around now that this code belongs to.
pub fn matching_step(seed: &[u8], digits: &str, now: Time) -> Result<Option<i64>, Problem> {
    let Ok(seconds) = u64::try_from(now.seconds()) else { return Ok(None) };
    let step = totp(seed, ISSUER)?.check(digits, seconds);
    Ok(step.and_then(|step| i64::try_from(step).ok()))
}

/// The response to an enrolment.
pub fn enrollment(seed: &[u8], email: &Email) -> Result<Enrollment, Problem> {
    let otpauth_url = totp(seed, email.as_str())?.to_url().map_err(|error| Problem::internal(error.to_string()))?;
    let qr = QrCode::new(otpauth_url.as_bytes()).map_err(Problem::internal)?;
    let qr_svg = qr.render::<svg::Color>().min_dimensions(240, 240).quiet_zone(true).build();
    Ok(Enrollment { secret: BASE32_NOPAD.encode(seed), otpauth_url, qr_svg })
}

/// Ten codes of 120 bits, in groups of four characters.
pub fn new_recovery_codes() -> Vec<String> {
    let code = || {
        let text = BASE32_NOPAD.encode(&Entropy.bytes::<RECOVERY_BYTES>());
        let groups: Vec<&str> = (0..text.len()).step_by(4).map(|at| &text[at..at + 4]).collect();
        groups.join("-")
    };
    (0..RECOVERY_CODES).map(|_| code()).collect()
}

/// 120 random bits need no slow hash; the user id makes equal codes of two users differ.
pub fn hash_recovery_code(user: UserId, code: &str) -> Vec<u8> {
    let bare: String = code.chars().filter(|c| *c != '-').collect();
    digest(&SHA256, &[user.uuid().as_bytes(), bare.as_bytes()].concat()).as_ref().to_vec()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// RFC 6238, appendix B: SHA-1, the last six of eight digits.
    #[test]
    fn codes_match_the_test_vectors_of_rfc_6238() {
        let seed = b"12345678901234567890";
        for (seconds, code) in [(59, "287082"), (1_111_111_109, "081804"), (20_000_000_000, "353130")] {
            let step = matching_step(seed, code, Time::from_seconds(seconds)).unwrap();
            assert_eq!(step, Some(seconds / 30));
        }
    }

    #[test]
    fn a_code_is_accepted_one_step_before_and_after_its_own() {
        let seed = b"12345678901234567890";
        let at = |seconds| matching_step(seed, "287082", Time::from_seconds(seconds)).unwrap();
        assert_eq!(at(59 + 30), Some(1));
        assert_eq!(at(59 - 30), Some(1));
        assert_eq!(at(59 + 61), None);
        assert_eq!(at(-1), None);
    }

    #[test]
    fn recovery_codes_differ_and_hash_the_same_without_dashes() {
        let codes = new_recovery_codes();
        assert_eq!(codes.len(), 10);
        assert!(codes.iter().all(|code| code.replace('-', "").len() * 5 >= 112));
        assert_eq!(codes.iter().collect::<std::collections::BTreeSet<_>>().len(), 10);
        let user = UserId::new(uuid::Uuid::nil());
        assert_eq!(hash_recovery_code(user, &codes[0]), hash_recovery_code(user, &codes[0].replace('-', "")));
    }
}
