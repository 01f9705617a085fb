//! JPEG: the size stands in a frame header, behind segments of any length.

use super::{Refusal, admit_size};

/// Marker, length, precision, height and width.
const FRAME_BYTES: usize = 9;

/// A walk from segment to segment, up to the frame header.
pub struct Jpeg {
    /// The beginning of the current segment.
    head: Vec<u8>,
    /// Bytes of the current segment that say nothing here.
    skip: usize,
    framed: bool,
}

impl Jpeg {
    /// `seen` are the bytes after the start of the image.
    pub fn begun_with(seen: &[u8]) -> Jpeg {
        let mut head = Vec::with_capacity(FRAME_BYTES);
        head.extend_from_slice(seen);
        Jpeg { head, skip: 0, framed: false }
    }

    pub fn show(&mut self, mut piece: &[u8]) -> Result<(), Refusal> {
        loop {
            // What came with the signature may be a whole segment already.
            self.walk()?;
            let skipped = self.skip.min(piece.len());
            self.skip -= skipped;
            piece = &piece[skipped..];
            let Some((byte, rest)) = piece.split_first().filter(|_| !self.framed) else { return Ok(()) };
            self.head.push(*byte);
            piece = rest;
        }
    }

    /// Leaves every segment behind that is understood so far.
    fn walk(&mut self) -> Result<(), Refusal> {
        while !self.framed && self.skip == 0 {
            match self.head.as_slice() {
                [] | [0xFF] | [0xFF, _] | [0xFF, _, _] => return Ok(()),
                // Any number of these may stand before a marker.
                [0xFF, 0xFF, ..] => drop(self.head.remove(0)),
                [0xFF, marker, high, low, rest @ ..] => {
                    let length = usize::from(*high) << 8 | usize::from(*low);
                    if length < 2 || !has_length(*marker) {
                        return Err(Refusal::Broken);
                    }
                    if !is_frame(*marker) {
                        let left = length - 2;
                        let here = left.min(rest.len());
                        self.skip = left - here;
                        self.head.drain(..4 + here);
                    } else if let [_, h1, h0, w1, w0, ..] = *rest {
                        admit_size(u32::from(w1) << 8 | u32::from(w0), u32::from(h1) << 8 | u32::from(h0))?;
                        self.framed = true;
                    } else {
                        return Ok(());
                    }
                }
                _ => return Err(Refusal::Broken),
            }
        }
        Ok(())
    }

    pub fn finish(&self) -> Result<(), Refusal> {
        if self.framed { Ok(()) } else { Err(Refusal::Broken) }
    }
}

/// Whether a segment with this marker may stand before the frame; the picture's data may not.
fn has_length(marker: u8) -> bool {
    matches!(marker, 0xC0..=0xCF | 0xDB..=0xDF | 0xE0..=0xEF | 0xFE)
}

/// Tables and extensions lie between the markers of frames.
fn is_frame(marker: u8) -> bool {
    matches!(marker, 0xC0..=0xCF) && !matches!(marker, 0xC4 | 0xC8 | 0xCC)
}
