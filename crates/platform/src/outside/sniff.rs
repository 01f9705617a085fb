//! What a file is, told by its bytes and never by its name; and which files are not taken.
//!
//! People hand in PDFs and pictures. A PDF must be readable by whoever reviews it (not encrypted) and must do nothing
//! of its own (no scripts, no programs to launch). A picture must not be so large that opening it is an attack. The
//! bytes are looked at as they come, in memory that does not grow with the file.

mod jpeg;
mod pdf;
mod png;

use std::{fmt, io};

use futures_util::TryStreamExt;

use super::files::Content;
use jpeg::Jpeg;
use pdf::Pdf;
use png::Png;

/// Forty megapixels: more than a scanner or a camera in a telephone makes of a page.
const MOST_PIXELS: u64 = 40_000_000;
/// The bytes that tell the kinds apart.
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

    /// How a name of such a file ends.
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

/// Why a file is not taken, as a sentence about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    OtherType,
    Broken,
    Encrypted,
    Scripted,
    /// It may hold anything.
    Opaque,
    TooManyPixels,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::OtherType => "must be a PDF, JPEG or PNG file",
            Refusal::Broken => "is damaged or incomplete",
            Refusal::Encrypted => "must not be encrypted or ask for a password",
            Refusal::Scripted => "must not contain scripts or start programs",
            Refusal::Opaque => "is packed in a way that cannot be looked into; save it as a plain PDF",
            Refusal::TooManyPixels => "must have at most 40 megapixels",
        })
    }
}

/// Looks at a file of which the pieces are shown in order.
pub struct Sniffer(Stage);

enum Stage {
    /// Fewer bytes than tell the kinds apart.
    Beginning(Vec<u8>),
    Pdf(Box<Pdf>),
    Jpeg(Jpeg),
    Png(Png),
    Refused(Refusal),
}

impl Sniffer {
    pub fn new() -> Sniffer {
        Sniffer(Stage::Beginning(Vec::with_capacity(SIGNATURE_BYTES)))
    }

    /// Shows the next piece; false when no further piece can change the verdict.
    pub fn show(&mut self, mut piece: &[u8]) -> bool {
        if let Stage::Beginning(seen) = &mut self.0 {
            let (first, rest) = piece.split_at(piece.len().min(SIGNATURE_BYTES - seen.len()));
            seen.extend_from_slice(first);
            if seen.len() < SIGNATURE_BYTES {
                return true;
            }
            piece = rest;
            self.0 = Stage::told_by(seen);
        }
        let verdict = match &mut self.0 {
            Stage::Beginning(_) => Ok(()),
            Stage::Pdf(pdf) => pdf.show(piece),
            Stage::Jpeg(jpeg) => jpeg.show(piece),
            Stage::Png(png) => png.show(piece),
            Stage::Refused(refusal) => Err(*refusal),
        };
        if let Err(refusal) = verdict {
            self.0 = Stage::Refused(refusal);
        }
        !matches!(self.0, Stage::Refused(_))
    }

    /// The verdict on a file that was shown to its end.
    pub fn finish(self) -> Result<FileType, Refusal> {
        match self.0 {
            Stage::Beginning(_) => Err(Refusal::OtherType),
            Stage::Pdf(pdf) => pdf.finish().map(|()| FileType::Pdf),
            Stage::Jpeg(jpeg) => jpeg.finish().map(|()| FileType::Jpeg),
            Stage::Png(png) => png.finish().map(|()| FileType::Png),
            Stage::Refused(refusal) => Err(refusal),
        }
    }
}

impl Default for Sniffer {
    fn default() -> Self {
        Sniffer::new()
    }
}

impl Stage {
    fn told_by(signature: &[u8]) -> Stage {
        match signature {
            [b'%', b'P', b'D', b'F', b'-', b'1' | b'2', b'.', b'0'..=b'9'] => Stage::Pdf(Box::default()),
            [0xFF, 0xD8, 0xFF, ..] => Stage::Jpeg(Jpeg::begun_with(&signature[2..])),
            b"\x89PNG\r\n\x1A\n" => Stage::Png(Png::default()),
            _ => Stage::Refused(Refusal::OtherType),
        }
    }
}

/// The verdict on a whole file.
pub async fn sniff(mut content: Content) -> io::Result<Result<FileType, Refusal>> {
    let mut sniffer = Sniffer::new();
    while let Some(piece) = content.try_next().await? {
        if !sniffer.show(&piece) {
            break;
        }
    }
    Ok(sniffer.finish())
}

/// Whether a picture of this size may be opened; one without any size cannot be.
fn admit_size(width: u32, height: u32) -> Result<(), Refusal> {
    match u64::from(width) * u64::from(height) {
        0 => Err(Refusal::Broken),
        pixels if pixels > MOST_PIXELS => Err(Refusal::TooManyPixels),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
