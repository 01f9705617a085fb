//! Scans for PDF names: a slash and characters, some of which may be escaped (`/J#61vaScript`).

/// Longer names do not matter.
const MAX_NAME_BYTES: usize = 16;

/// A complete name; empty if it was too long to matter.
#[derive(Clone, Copy, Default)]
pub struct Name {
    letters: [u8; MAX_NAME_BYTES],
    length: usize,
}

impl Name {
    pub fn letters(&self) -> &[u8] {
        self.letters.get(..self.length).unwrap_or_default()
    }
}

/// Finds names in a stream of bytes.
#[derive(Default)]
pub struct Names(Option<Partial>);

#[derive(Default)]
struct Partial {
    name: Name,
    escape: Escape,
}

/// How much of an escape such as `#61` was read.
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
            if let Some(partial) = &mut self.0 {
                partial.push(byte);
            }
            return None;
        }
        let next = (byte == b'/').then(Partial::default);
        std::mem::replace(&mut self.0, next).map(|partial| partial.name)
    }

    /// The name that the end of the file ends.
    pub fn finish(&mut self) -> Option<Name> {
        self.0.take().map(|partial| partial.name)
    }
}

impl Partial {
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
            // Not an escape: no name that matters contains `#`.
            (Escape::Begun | Escape::High(_), None) => b'#',
        };
        self.escape = Escape::None;
        if let Some(slot) = self.name.letters.get_mut(self.name.length) {
            *slot = letter;
        }
        // For a name that is too long, `letters` returns an empty slice.
        self.name.length = self.name.length.saturating_add(1);
    }
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// Whether the byte can be part of a name: neither white space nor a delimiter.
pub fn is_regular(byte: u8) -> bool {
    !matches!(
        byte,
        0 | b'\t' | b'\n' | 0x0C | b'\r' | b' ' | b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%'
    )
}
