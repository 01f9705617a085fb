//! PDF: a walk over the names in the file, since it is by name that a PDF asks for a password or runs something.
//!
//! Long names are looked for everywhere, also in what claims to be a stream. `/JS` is so short that the noise of a
//! compressed picture would spell it by chance, so inside streams it does not count; what runs a script has a long
//! name too. Streams that hold objects are unpacked and looked at in turn.

mod names;
mod packed;

use super::Refusal;
use names::{Name, Names};
use packed::{MOST_UNPACKED_BYTES, Packed};

const SCRIPTING: [&[u8]; 3] = [b"JavaScript", b"Launch", b"Rendition"];
const SHORT: &[u8] = b"JS";
const ENCRYPTING: &[u8] = b"Encrypt";

/// What a stream of objects says of itself.
const HOLDS_OBJECTS: [&[u8]; 2] = [b"ObjStm", b"First"];
/// What would have to be undone beside unpacking; nobody writes objects so who has nothing to hide.
const ALTERING: [&[u8]; 6] =
    [b"ASCIIHexDecode", b"ASCII85Decode", b"LZWDecode", b"RunLengthDecode", b"Crypt", b"DecodeParms"];

pub struct Pdf {
    names: Names,
    /// The last bytes, newest lowest.
    window: u128,
    place: Place,
    announced: Announced,
    /// How many bytes of objects may still be unpacked.
    allowance: u64,
}

enum Place {
    Objects,
    Stream,
    /// A stream that holds objects.
    Packed(Box<Packed>),
}

/// What the object at hand has said of the stream that may follow.
#[derive(Default)]
struct Announced {
    objects: bool,
    filter: bool,
    flate: bool,
    altered: bool,
}

impl Default for Pdf {
    fn default() -> Self {
        Pdf {
            names: Names::default(),
            window: 0,
            place: Place::Objects,
            announced: Announced::default(),
            allowance: MOST_UNPACKED_BYTES,
        }
    }
}

/// Whether a PDF may have this name.
fn admit(name: &Name, among_objects: bool) -> Result<(), Refusal> {
    match name.letters() {
        letters if SCRIPTING.contains(&letters) => Err(Refusal::Scripted),
        letters if letters == ENCRYPTING => Err(Refusal::Encrypted),
        letters if letters == SHORT && among_objects => Err(Refusal::Scripted),
        _ => Ok(()),
    }
}

impl Pdf {
    pub fn show(&mut self, piece: &[u8]) -> Result<(), Refusal> {
        piece.iter().try_for_each(|byte| self.read(*byte))
    }

    fn read(&mut self, byte: u8) -> Result<(), Refusal> {
        if let Some(name) = self.names.read(byte) {
            self.end_name(&name)?;
        }
        self.window = self.window << 8 | u128::from(byte);
        if let Place::Packed(packed) = &mut self.place {
            packed.push(byte, &mut self.allowance)?;
        }
        match byte {
            b'm' if ends_with(self.window, b"endstream") => self.end_stream()?,
            b'j' if self.among_objects() && ends_with(self.window, b"endobj") => self.announced = Announced::default(),
            b'\n' | b'\r' if self.among_objects() && begins_stream(self.window >> 8) => {
                self.place = std::mem::take(&mut self.announced).follows()?;
            }
            _ => {}
        }
        Ok(())
    }

    fn among_objects(&self) -> bool {
        matches!(self.place, Place::Objects)
    }

    fn end_name(&mut self, name: &Name) -> Result<(), Refusal> {
        if self.among_objects() {
            self.announced.note(name.letters());
        }
        admit(name, self.among_objects())
    }

    fn end_stream(&mut self) -> Result<(), Refusal> {
        match std::mem::replace(&mut self.place, Place::Objects) {
            Place::Packed(packed) => packed.finish(&mut self.allowance),
            Place::Objects | Place::Stream => Ok(()),
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

impl Announced {
    fn note(&mut self, name: &[u8]) {
        self.objects |= HOLDS_OBJECTS.contains(&name);
        self.filter |= name == b"Filter";
        self.flate |= name == b"FlateDecode";
        self.altered |= ALTERING.contains(&name);
    }

    /// What kind of stream this is.
    fn follows(self) -> Result<Place, Refusal> {
        match self {
            Announced { objects: false, .. } => Ok(Place::Stream),
            Announced { altered: true, .. } | Announced { filter: true, flate: false, .. } => Err(Refusal::Opaque),
            Announced { flate: true, .. } => Ok(Place::Packed(Box::new(Packed::new()))),
            Announced { flate: false, .. } => Ok(Place::Objects),
        }
    }
}
