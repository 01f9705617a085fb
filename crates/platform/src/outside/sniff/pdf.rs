//! PDF: scans the names in the file, since encryption, scripts, attachments and launch actions are all declared by name.
//!
//! Long names are searched everywhere, also in streams. `/JS` and `/XFA` are so short that a compressed image contains
//! them by chance, so they are ignored inside streams; a script action has a long name as well. Object streams are
//! decompressed and scanned too.
//!
//! A reader finds objects by their offset, so one may begin inside what is a comment, a string or a stream to whoever
//! reads from the start. The names of an object stream in such a place make every later stream suspect, and the file is
//! rejected.

mod names;
mod packed;
mod zones;

use super::Refusal;
use names::{Name, Names, is_regular};
use packed::{MAX_UNPACKED_BYTES, Packed};
use zones::Zone;

const SCRIPT_NAMES: [&[u8]; 4] = [b"JavaScript", b"Launch", b"Rendition", b"RichMedia"];
const SCRIPT_SHORT_NAMES: [&[u8]; 2] = [b"JS", b"XFA"];
const ATTACHMENT_NAMES: [&[u8]; 2] = [b"EmbeddedFile", b"EmbeddedFiles"];
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
    zone: Zone,
    dictionary: StreamInfo,
    /// Whether the names of an object stream were seen in a comment, a string or a stream.
    hides_objects: bool,
    /// How many bytes may still be decompressed.
    allowance: u64,
}

enum Context {
    Objects,
    /// The rest of the line after the keyword `stream`.
    Keyword(StreamInfo),
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
            // The signature begins with a percent sign.
            zone: Zone::Comment,
            dictionary: StreamInfo::default(),
            hides_objects: false,
            allowance: MAX_UNPACKED_BYTES,
        }
    }
}

/// Rejects the names of scripts, attachments and encryption.
fn check_name(name: &Name, among_objects: bool) -> Result<(), Refusal> {
    match name.letters() {
        letters if SCRIPT_NAMES.contains(&letters) => Err(Refusal::Scripted),
        letters if ATTACHMENT_NAMES.contains(&letters) => Err(Refusal::Attachment),
        letters if letters == ENCRYPT_NAME => Err(Refusal::Encrypted),
        letters if SCRIPT_SHORT_NAMES.contains(&letters) && among_objects => Err(Refusal::Scripted),
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
        if !is_regular(byte) {
            self.end_word()?;
        }
        self.window = self.window << 8 | u128::from(byte);
        match &mut self.context {
            Context::Objects => self.zone = self.zone.after(byte),
            Context::Keyword(dictionary) if matches!(byte, b'\n' | b'\r') => {
                self.context = std::mem::take(dictionary).context()?;
            }
            Context::Packed(packed) => packed.push(byte, &mut self.allowance)?,
            Context::Keyword(_) | Context::Stream => {}
        }
        if byte == b'm' && ends_with(self.window, b"endstream") {
            self.end_stream()?;
        }
        Ok(())
    }

    fn among_objects(&self) -> bool {
        matches!(self.context, Context::Objects)
    }

    /// Whether this is neither a comment nor part of a string or stream.
    fn is_code(&self) -> bool {
        self.among_objects() && self.zone == Zone::Code
    }

    fn end_name(&mut self, name: &Name) -> Result<(), Refusal> {
        if self.is_code() {
            self.dictionary.note(name.letters());
        } else {
            self.hides_objects |= OBJECT_STREAM.contains(&name.letters());
        }
        check_name(name, self.among_objects())
    }

    /// Looks for the keywords that matter, which the window ends with.
    fn end_word(&mut self) -> Result<(), Refusal> {
        if is_word(self.window, b"stream") {
            if self.hides_objects {
                return Err(Refusal::Opaque);
            }
            if self.is_code() {
                self.context = Context::Keyword(std::mem::take(&mut self.dictionary));
            }
        } else if self.is_code() && is_word(self.window, b"endobj") {
            self.dictionary = StreamInfo::default();
        }
        Ok(())
    }

    /// The data of an object stream may contain the keyword that ends it.
    fn end_stream(&mut self) -> Result<(), Refusal> {
        if let Context::Packed(packed) = &mut self.context
            && !packed.is_complete(&mut self.allowance)?
        {
            return Ok(());
        }
        (self.context, self.zone) = match std::mem::replace(&mut self.context, Context::Objects) {
            Context::Objects => (Context::Objects, self.zone),
            _ => (Context::Objects, Zone::Code),
        };
        Ok(())
    }

    pub fn finish(mut self) -> Result<(), Refusal> {
        if let Some(name) = self.names.finish() {
            self.end_name(&name)?;
        }
        self.end_word()?;
        self.end_stream()?;
        if matches!(self.context, Context::Packed(_)) { Err(Refusal::Broken) } else { Ok(()) }
    }
}

fn ends_with(window: u128, word: &[u8]) -> bool {
    let mask = (1u128 << (8 * word.len())) - 1;
    window & mask == word.iter().fold(0, |value, byte| value << 8 | u128::from(*byte))
}

/// Whether the window ends with this word and not with a longer one.
fn is_word(window: u128, word: &[u8]) -> bool {
    let before = (window >> (8 * word.len())) as u8;
    ends_with(window, word) && !is_regular(before)
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
