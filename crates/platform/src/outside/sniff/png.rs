//! PNG: the size is in the first chunk.

use super::{Refusal, check_size};

/// Length, `IHDR`, width and height.
const HEADER_BYTES: usize = 16;

/// The bytes after the signature, up to the height.
#[derive(Default)]
pub struct Png(Vec<u8>);

impl Png {
    pub fn push(&mut self, piece: &[u8]) -> Result<(), Refusal> {
        let missing = HEADER_BYTES - self.0.len();
        if missing == 0 {
            return Ok(());
        }
        self.0.extend_from_slice(&piece[..piece.len().min(missing)]);
        if self.0.len() == HEADER_BYTES { self.check() } else { Ok(()) }
    }

    fn check(&self) -> Result<(), Refusal> {
        let number = |at: usize| self.0[at..at + 4].iter().fold(0u32, |value, byte| value << 8 | u32::from(*byte));
        if number(0) != 13 || &self.0[4..8] != b"IHDR" {
            return Err(Refusal::Broken);
        }
        check_size(number(8), number(12))
    }

    pub fn finish(&self) -> Result<(), Refusal> {
        if self.0.len() == HEADER_BYTES { Ok(()) } else { Err(Refusal::Broken) }
    }
}
