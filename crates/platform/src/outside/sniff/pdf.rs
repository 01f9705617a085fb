//! PDF: scans the names in the file, since encryption, scripts and launch actions are all declared by name.
//!
//! Long names are searched everywhere, also in streams. `/JS` is so short that a compressed image contains it by
//! chance, so it is ignored inside streams; a script action has a long name as well. Object streams are decompressed
//! and scanned too.

mod names;
mod packed;

use super::Refusal;
use names::{Name, Names};
use packed::{MAX_UNPACKED_BYTES, Packed};

const SCRIPT_NAMES: [&[u8]; 3] = [b"JavaScript", b"Launch", b"Rendition"];
const SCRIPT_SHORT_NAME: &[u8] = b"JS";
const ENCRYPT_NAME: &[u8] = b"Encrypt";

/// Names in the dictionary of an object stream.
const OBJECT_STREAM: [&[u8]; 2] = [b"ObjStm", b"First"];
/// Encodings other than Flate. No common software uses them for object streams.
const UNSUPPORTED: [&[u8]; 6] =
    [b"ASCIIHexDecode", b"ASCII85Decode", b"LZWDecode", b"RunLengthDecode", b"Crypt", b"DecodeParms"];

pub struct Pdf {
    names: Names,
    /// The last 16 bytes, the newest in the lowest bits.
    window: u128,
    context: Context,
    dictionary: StreamInfo,
    /// How many bytes may still be decompressed.
    allowance: u64,
}

enum Context {
    Objects,
    Stream,
    /// An object stream.
    Packed(Box<Packed>),
}

/// What the current object's dictionary says about the stream that may follow.
#[derive(Default)]
struct StreamInfo {
    objects: bool,
    filter: bool,
    flate: bool,
    unsupported: bool,
}

impl Default for Pdf {
    fn default() -> Self {
        Pdf {
            names: Names::default(),
            window: 0,
            context: Context::Objects,
            dictionary: StreamInfo::default(),
            allowance: MAX_UNPACKED_BYTES,
        }
    }
}

/// Rejects the names of scripts and encryption.
fn check_name(name: &Name, among_objects: bool) -> Result<(), Refusal> {
    match name.letters() {
        letters if SCRIPT_NAMES.contains(&letters) => Err(Refusal::Scripted),
        letters if letters == ENCRYPT_NAME => Err(Refusal::Encrypted),
        letters if letters == SCRIPT_SHORT_NAME && among_objects => Err(Refusal::Scripted),
        _ => Ok(()),
    }
}

impl Pdf {
    pub fn push(&mut self, piece: &[u8]) -> Result<(), Refusal> {
        piece.iter().try_for_each(|byte| self.read(*byte))
    }

    fn read(&mut self, byte: u8) -> Result<(), Refusal> {
        if let Some(name) = self.names.read(byte) {
            self.end_name(&name)?;
        }
        self.window = self.window << 8 | u128::from(byte);
        if let Context::Packed(packed) = &mut self.context {
            packed.push(byte, &mut self.allowance)?;
        }
        match byte {
            b'm' if ends_with(self.window, b"endstream") => self.end_stream()?,
            b'j' if self.among_objects() && ends_with(self.window, b"endobj") => {
                self.dictionary = StreamInfo::default()
            }
            b'\n' | b'\r' if self.among_objects() && begins_stream(self.window >> 8) => {
                self.context = std::mem::take(&mut self.dictionary).context()?;
            }
            _ => {}
        }
        Ok(())
    }

    fn among_objects(&self) -> bool {
        matches!(self.context, Context::Objects)
    }

    fn end_name(&mut self, name: &Name) -> Result<(), Refusal> {
        if self.among_objects() {
            self.dictionary.note(name.letters());
        }
        check_name(name, self.among_objects())
    }

    fn end_stream(&mut self) -> Result<(), Refusal> {
        match std::mem::replace(&mut self.context, Context::Objects) {
            Context::Packed(packed) => packed.finish(&mut self.allowance),
            Context::Objects | Context::Stream => Ok(()),
        }
    }

    pub fn finish(mut self) -> Result<(), Refusal> {
        if let Some(name) = self.names.finish() {
            self.end_name(&name)?;
        }
        self.end_stream()
    }
}

fn ends_with(window: u128, word: &[u8]) -> bool {
    let mask = (1u128 << (8 * word.len())) - 1;
    window & mask == word.iter().fold(0, |value, byte| value << 8 | u128::from(*byte))
}

fn begins_stream(window: u128) -> bool {
    ends_with(window, b"stream") && !ends_with(window, b"endstream")
}

impl StreamInfo {
    fn note(&mut self, name: &[u8]) {
        self.objects |= OBJECT_STREAM.contains(&name);
        self.filter |= name == b"Filter";
        self.flate |= name == b"FlateDecode";
        self.unsupported |= UNSUPPORTED.contains(&name);
    }

    /// The kind of the stream that follows.
    fn context(self) -> Result<Context, Refusal> {
        match self {
            StreamInfo { objects: false, .. } => Ok(Context::Stream),
            StreamInfo { unsupported: true, .. } | StreamInfo { filter: true, flate: false, .. } => {
                Err(Refusal::Opaque)
            }
            StreamInfo { flate: true, .. } => Ok(Context::Packed(Box::new(Packed::new()))),
            StreamInfo { flate: false, .. } => Ok(Context::Objects),
        }
    }
}
