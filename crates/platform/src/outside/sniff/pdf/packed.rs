//! Object streams: decompresses them in small steps and scans the names in them.

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};

use super::names::Names;
use super::{Refusal, check_name};

/// Limit for all object streams of a file, against decompression bombs.
pub const MAX_UNPACKED_BYTES: u64 = 64 * 1024 * 1024;
const PIECE_BYTES: usize = 4096;

pub struct Packed {
    inflating: Box<InflateState>,
    buffer: Vec<u8>,
    names: Names,
    begun: bool,
    ended: bool,
}

impl Packed {
    pub fn new() -> Packed {
        Packed {
            // PDF readers ignore the checksum too.
            inflating: InflateState::new_boxed(DataFormat::ZLibIgnoreChecksum),
            buffer: Vec::with_capacity(PIECE_BYTES),
            names: Names::default(),
            begun: false,
            ended: false,
        }
    }

    pub fn push(&mut self, byte: u8, allowance: &mut u64) -> Result<(), Refusal> {
        // The rest of the line break between the keyword and the data.
        if byte == b'\n' && !self.begun {
            return Ok(());
        }
        self.begun = true;
        self.buffer.push(byte);
        if self.buffer.len() < PIECE_BYTES { Ok(()) } else { self.unpack(allowance) }
    }

    /// Decompresses the buffered bytes and checks the names in them.
    fn unpack(&mut self, allowance: &mut u64) -> Result<(), Refusal> {
        let buffer = std::mem::take(&mut self.buffer);
        let mut rest = buffer.as_slice();
        let mut unpacked = [0; 2 * PIECE_BYTES];
        while !self.ended {
            let step = inflate(&mut self.inflating, rest, &mut unpacked, MZFlush::None);
            rest = rest.get(step.bytes_consumed..).unwrap_or_default();
            *allowance = allowance.checked_sub(step.bytes_written as u64).ok_or(Refusal::Opaque)?;
            for byte in unpacked.iter().take(step.bytes_written) {
                self.names.read(*byte).map_or(Ok(()), |name| check_name(&name, true))?;
            }
            match step.status {
                Ok(MZStatus::StreamEnd) => self.ended = true,
                Ok(_) if step.bytes_written > 0 || step.bytes_consumed > 0 => {}
                // More input is needed.
                Ok(_) | Err(MZError::Buf) => break,
                Err(_) => return Err(Refusal::Broken),
            }
        }
        self.buffer = buffer;
        self.buffer.clear();
        Ok(())
    }

    /// Whether the compressed data has ended, and with it the last name.
    pub fn is_complete(&mut self, allowance: &mut u64) -> Result<bool, Refusal> {
        self.unpack(allowance)?;
        if self.ended {
            self.names.finish().map_or(Ok(()), |name| check_name(&name, true))?;
        }
        Ok(self.ended)
    }
}
