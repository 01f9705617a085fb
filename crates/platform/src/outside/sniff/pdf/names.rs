//! The names in a PDF: a slash and letters, some of which may be escaped (`/J#61vaScript`).

/// No name that matters is longer.
const LONGEST: usize = 16;

/// A name that has ended; empty when it was too long to matter.
#[derive(Clone, Copy, Default)]
pub struct Name {
    letters: [u8; LONGEST],
    length: usize,
}

impl Name {
    pub fn letters(&self) -> &[u8] {
        self.letters.get(..self.length).unwrap_or_default()
    }
}

/// Finds names in bytes that are shown one by one.
#[derive(Default)]
pub struct Names(Option<Begun>);

#[derive(Default)]
struct Begun {
    name: Name,
    escape: Escape,
}

/// How much of `#61` was read.
#[derive(Clone, Copy, Default)]
enum Escape {
    #[default]
    None,
    Begun,
    High(u8),
}

impl Names {
    /// The name that this byte ends, if it ends one.
    pub fn read(&mut self, byte: u8) -> Option<Name> {
        if is_regular(byte) {
            if let Some(begun) = &mut self.0 {
                begun.push(byte);
            }
            return None;
        }
        let next = (byte == b'/').then(Begun::default);
        std::mem::replace(&mut self.0, next).map(|begun| begun.name)
    }

    /// The name that the end of the file ends.
    pub fn finish(&mut self) -> Option<Name> {
        self.0.take().map(|begun| begun.name)
    }
}

impl Begun {
    fn push(&mut self, byte: u8) {
        let letter = match (self.escape, hex(byte)) {
            (Escape::None, _) if byte == b'#' => {
                self.escape = Escape::Begun;
                return;
            }
            (Escape::None, _) => byte,
            (Escape::Begun, Some(high)) => {
                self.escape = Escape::High(high);
                return;
            }
            (Escape::High(high), Some(low)) => high << 4 | low,
            // Not an escape after all: no name that matters has such a letter.
            (Escape::Begun | Escape::High(_), None) => b'#',
        };
        self.escape = Escape::None;
        if let Some(place) = self.name.letters.get_mut(self.name.length) {
            *place = letter;
        }
        // One that grows past the end is no prefix of itself: `letters` finds nothing then.
        self.name.length = self.name.length.saturating_add(1);
    }
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// Neither white space nor a delimiter: what a name is made of.
fn is_regular(byte: u8) -> bool {
    !matches!(
        byte,
        0 | b'\t' | b'\n' | 0x0C | b'\r' | b' ' | b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%'
    )
}
