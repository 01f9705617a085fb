//! Objects that a PDF keeps compressed in a stream: unpacked a little at a time, to look at the names in them.

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};

use super::names::Names;
use super::{Refusal, admit};

/// All objects of a file unpacked may have this many bytes: more than any document has, and no bomb.
pub const MOST_UNPACKED_BYTES: u64 = 64 * 1024 * 1024;
const PIECE_BYTES: usize = 4096;

pub struct Packed {
    inflating: Box<InflateState>,
    waiting: Vec<u8>,
    names: Names,
    begun: bool,
    ended: bool,
}

impl Packed {
    pub fn new() -> Packed {
        Packed {
            // Readers do not care for the checksum either.
            inflating: InflateState::new_boxed(DataFormat::ZLibIgnoreChecksum),
            waiting: Vec::with_capacity(PIECE_BYTES),
            names: Names::default(),
            begun: false,
            ended: false,
        }
    }

    pub fn push(&mut self, byte: u8, allowance: &mut u64) -> Result<(), Refusal> {
        // What is left of the line's end between the keyword and the data.
        if byte == b'\n' && !self.begun {
            return Ok(());
        }
        self.begun = true;
        self.waiting.push(byte);
        if self.waiting.len() < PIECE_BYTES { Ok(()) } else { self.unpack(allowance) }
    }

    /// Unpacks what waits and looks at the names in it.
    pub fn unpack(&mut self, allowance: &mut u64) -> Result<(), Refusal> {
        let waiting = std::mem::take(&mut self.waiting);
        let mut rest = waiting.as_slice();
        let mut unpacked = [0; 2 * PIECE_BYTES];
        while !self.ended {
            let step = inflate(&mut self.inflating, rest, &mut unpacked, MZFlush::None);
            rest = rest.get(step.bytes_consumed..).unwrap_or_default();
            *allowance = allowance.checked_sub(step.bytes_written as u64).ok_or(Refusal::Opaque)?;
            for byte in unpacked.iter().take(step.bytes_written) {
                self.names.read(*byte).map_or(Ok(()), |name| admit(&name, true))?;
            }
            match step.status {
                Ok(MZStatus::StreamEnd) => self.ended = true,
                Ok(_) if step.bytes_written > 0 || step.bytes_consumed > 0 => {}
                // It waits for more to come.
                Ok(_) | Err(MZError::Buf) => break,
                Err(_) => return Err(Refusal::Broken),
            }
        }
        self.waiting = waiting;
        self.waiting.clear();
        Ok(())
    }

    /// The end of the stream ends the last name too.
    pub fn finish(mut self, allowance: &mut u64) -> Result<(), Refusal> {
        self.unpack(allowance)?;
        self.names.finish().map_or(Ok(()), |name| admit(&name, true))
    }
}
