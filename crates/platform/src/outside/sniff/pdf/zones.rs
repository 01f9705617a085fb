//! Comments and strings: in them a keyword is only text.

/// Where between streams a byte is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    Code,
    /// Until the end of the line.
    Comment,
    /// Parentheses nest, unless a backslash precedes them.
    String {
        depth: u32,
        is_escaped: bool,
    },
}

impl Zone {
    /// The zone of the byte after this one.
    pub fn after(self, byte: u8) -> Zone {
        let string = |depth: u32| Zone::String { depth, is_escaped: false };
        match (self, byte) {
            (Zone::Code, b'%') => Zone::Comment,
            (Zone::Code, b'(') | (Zone::String { depth: 0, is_escaped: true }, _) => string(0),
            (Zone::Comment, b'\n' | b'\r') | (Zone::String { depth: 0, is_escaped: false }, b')') => Zone::Code,
            (Zone::String { depth, is_escaped: true }, _) => string(depth),
            (Zone::String { depth, .. }, b'\\') => Zone::String { depth, is_escaped: true },
            (Zone::String { depth, .. }, b'(') => string(depth.saturating_add(1)),
            (Zone::String { depth, .. }, b')') => string(depth - 1),
            (zone, _) => zone,
        }
    }
}
