//! JPEG: the size is in a frame header, after segments of any length.

use super::{Refusal, check_size};

/// Marker, length, precision, height and width.
const FRAME_BYTES: usize = 9;

/// Walks from segment to segment up to the frame header.
pub struct Jpeg {
    /// The beginning of the current segment.
    head: Vec<u8>,
    /// Bytes of the current segment to skip.
    skip: usize,
    has_frame: bool,
}

impl Jpeg {
    /// `seen` are the bytes after the start-of-image marker.
    pub fn new(seen: &[u8]) -> Jpeg {
        let mut head = Vec::with_capacity(FRAME_BYTES);
        head.extend_from_slice(seen);
        Jpeg { head, skip: 0, has_frame: false }
    }

    pub fn push(&mut self, mut piece: &[u8]) -> Result<(), Refusal> {
        loop {
            // The signature may have contained a whole segment.
            self.skip_segments()?;
            let skipped = self.skip.min(piece.len());
            self.skip -= skipped;
            piece = &piece[skipped..];
            let Some((byte, rest)) = piece.split_first().filter(|_| !self.has_frame) else { return Ok(()) };
            self.head.push(*byte);
            piece = rest;
        }
    }

    /// Skips all segments that are complete so far.
    fn skip_segments(&mut self) -> Result<(), Refusal> {
        while !self.has_frame && self.skip == 0 {
            match self.head.as_slice() {
                [] | [0xFF] | [0xFF, _] | [0xFF, _, _] => return Ok(()),
                // Fill bytes: any number may precede a marker.
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
                        check_size(u32::from(w1) << 8 | u32::from(w0), u32::from(h1) << 8 | u32::from(h0))?;
                        self.has_frame = true;
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
        if self.has_frame { Ok(()) } else { Err(Refusal::Broken) }
    }
}

/// Whether this marker has a length and may come before the frame. Image data may not.
fn has_length(marker: u8) -> bool {
    matches!(marker, 0xC0..=0xCF | 0xDB..=0xDF | 0xE0..=0xEF | 0xFE)
}

/// The markers of frames, without the tables and extensions between them.
fn is_frame(marker: u8) -> bool {
    matches!(marker, 0xC0..=0xCF) && !matches!(marker, 0xC4 | 0xC8 | 0xCC)
}
