//! The only source of randomness.

use data_encoding::BASE64URL_NOPAD;
use uuid::Uuid;

use values::Time;

/// Generates ids, tokens, salts and nonces.
#[derive(Clone, Copy)]
pub struct Entropy;

impl Entropy {
    /// Fills `bytes` from the operating system.
    #[expect(clippy::disallowed_methods, clippy::expect_used, reason = "no safe way to go on without randomness")]
    pub fn fill(&self, bytes: &mut [u8]) {
        aws_lc_rs::rand::fill(bytes).expect("the operating system has randomness");
    }

    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    /// A UUIDv7 of this time: ids sort by age.
    pub fn uuid(&self, now: Time) -> Uuid {
        let millis = u64::try_from(now.millis()).unwrap_or(0);
        uuid::Builder::from_unix_timestamp_millis(millis, &self.bytes()).into_uuid()
    }

    /// 256 random bits in base64url.
    pub fn token(&self) -> String {
        BASE64URL_NOPAD.encode(&self.bytes::<32>())
    }
}
