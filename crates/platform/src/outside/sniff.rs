//! Content sniffing: detects the type of an upload from its bytes, never from its name, and rejects unsafe files.
//!
//! Uploads are PDFs and images. A PDF must not be encrypted, so that the team can review it, and must not contain
//! scripts or other files, or launch programs. An image must not be so large that opening it is an attack. The bytes are checked as a
//! stream, in constant memory.

mod jpeg;
mod pdf;
mod png;

use std::{fmt, io};

use futures_util::TryStreamExt;

use super::files::Content;
use jpeg::Jpeg;
use pdf::Pdf;
use png::Png;

/// 40 megapixels: more than a scanned or photographed page has.
const MAX_PIXELS: u64 = 40_000_000;
/// The leading bytes that identify the type.
const SIGNATURE_BYTES: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileType {
    Pdf,
    Jpeg,
    Png,
}

impl FileType {
    pub const fn content_type(self) -> &'static str {
        match self {
            FileType::Pdf => "application/pdf",
            FileType::Jpeg => "image/jpeg",
            FileType::Png => "image/png",
        }
    }

    /// The file name extensions of this type.
    pub const fn extensions(self) -> &'static [&'static str] {
        match self {
            FileType::Pdf => &["pdf"],
            FileType::Jpeg => &["jpg", "jpeg"],
            FileType::Png => &["png"],
        }
    }

    pub fn of_content_type(content_type: &str) -> Option<FileType> {
        [FileType::Pdf, FileType::Jpeg, FileType::Png].into_iter().find(|kind| kind.content_type() == content_type)
    }
}

/// Why a file is rejected. Displays as a phrase that follows the file's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    OtherType,
    Broken,
    Encrypted,
    Scripted,
    Attachment,
    /// Its objects cannot be inspected.
    Opaque,
    TooManyPixels,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::OtherType => "must be a PDF, JPEG or PNG file",
            Refusal::Broken => "is damaged or incomplete",
            Refusal::Encrypted => "must not be encrypted or ask for a password",
            Refusal::Scripted => "must not contain scripts, XFA forms or media, or start programs",
            Refusal::Attachment => "must not contain other files",
            Refusal::Opaque => "uses an encoding that cannot be inspected; save it as a plain PDF",
            Refusal::TooManyPixels => "must have at most 40 megapixels",
        })
    }
}

/// Checks a file chunk by chunk.
pub struct Sniffer(State);

enum State {
    /// Less than [`SIGNATURE_BYTES`] so far.
    Beginning(Vec<u8>),
    Pdf(Box<Pdf>),
    Jpeg(Jpeg),
    Png(Png),
    Rejected(Refusal),
}

impl Sniffer {
    pub fn new() -> Sniffer {
        Sniffer(State::Beginning(Vec::with_capacity(SIGNATURE_BYTES)))
    }

    /// Checks the next chunk; false if the file is rejected already.
    pub fn push(&mut self, mut chunk: &[u8]) -> bool {
        if let State::Beginning(seen) = &mut self.0 {
            let (first, rest) = chunk.split_at(chunk.len().min(SIGNATURE_BYTES - seen.len()));
            seen.extend_from_slice(first);
            if seen.len() < SIGNATURE_BYTES {
                return true;
            }
            chunk = rest;
            self.0 = State::from_signature(seen);
        }
        let verdict = match &mut self.0 {
            State::Beginning(_) => Ok(()),
            State::Pdf(pdf) => pdf.push(chunk),
            State::Jpeg(jpeg) => jpeg.push(chunk),
            State::Png(png) => png.push(chunk),
            State::Rejected(refusal) => Err(*refusal),
        };
        if let Err(refusal) = verdict {
            self.0 = State::Rejected(refusal);
        }
        !matches!(self.0, State::Rejected(_))
    }

    /// The type of a file that was pushed completely.
    pub fn finish(self) -> Result<FileType, Refusal> {
        match self.0 {
            State::Beginning(_) => Err(Refusal::OtherType),
            State::Pdf(pdf) => pdf.finish().map(|()| FileType::Pdf),
            State::Jpeg(jpeg) => jpeg.finish().map(|()| FileType::Jpeg),
            State::Png(png) => png.finish().map(|()| FileType::Png),
            State::Rejected(refusal) => Err(refusal),
        }
    }
}

impl Default for Sniffer {
    fn default() -> Self {
        Sniffer::new()
    }
}

impl State {
    fn from_signature(signature: &[u8]) -> State {
        match signature {
            [b'%', b'P', b'D', b'F', b'-', b'1' | b'2', b'.', b'0'..=b'9'] => State::Pdf(Box::default()),
            [0xFF, 0xD8, 0xFF, ..] => State::Jpeg(Jpeg::new(&signature[2..])),
            b"\x89PNG\r\n\x1A\n" => State::Png(Png::default()),
            _ => State::Rejected(Refusal::OtherType),
        }
    }
}

/// Detects the type of a file.
pub async fn sniff(mut content: Content) -> io::Result<Result<FileType, Refusal>> {
    let mut sniffer = Sniffer::new();
    while let Some(chunk) = content.try_next().await? {
        if !sniffer.push(&chunk) {
            break;
        }
    }
    Ok(sniffer.finish())
}

/// Rejects an image that is too large or has no pixels.
fn check_size(width: u32, height: u32) -> Result<(), Refusal> {
    match u64::from(width) * u64::from(height) {
        0 => Err(Refusal::Broken),
        pixels if pixels > MAX_PIXELS => Err(Refusal::TooManyPixels),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
