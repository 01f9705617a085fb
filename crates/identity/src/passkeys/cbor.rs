//! The part of CBOR (RFC 8949) that authenticators use: integers, byte strings, texts, lists and maps of known length.
//! Everything is bounded by the input, and nesting by [`MAX_DEPTH`].

const MAX_DEPTH: usize = 8;

#[derive(Debug, PartialEq, Eq)]
pub enum Item<'a> {
    Int(i64),
    Bytes(&'a [u8]),
    Text(&'a str),
    List(Vec<Item<'a>>),
    Map(Vec<(Item<'a>, Item<'a>)>),
    /// True, false, null and the like, which nothing here reads.
    Simple,
}

impl<'a> Item<'a> {
    /// The value of a key in a map.
    pub fn get(&self, key: &Item<'_>) -> Option<&Item<'a>> {
        let Item::Map(entries) = self else { return None };
        entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    pub fn int(&self, key: i64) -> Option<i64> {
        match self.get(&Item::Int(key)) {
            Some(Item::Int(value)) => Some(*value),
            _ => None,
        }
    }

    pub fn bytes(&self, key: &Item<'_>) -> Option<&'a [u8]> {
        match self.get(key) {
            Some(Item::Bytes(value)) => Some(value),
            _ => None,
        }
    }
}

/// The first item of the input, and what follows it.
pub fn read(input: &[u8]) -> Option<(Item<'_>, &[u8])> {
    read_at(input, MAX_DEPTH)
}

fn read_at(input: &[u8], depth: usize) -> Option<(Item<'_>, &[u8])> {
    let depth = depth.checked_sub(1)?;
    let (kind, value, rest) = head(input)?;
    let length = usize::try_from(value).ok();
    Some(match kind {
        0 => (Item::Int(i64::try_from(value).ok()?), rest),
        1 => (Item::Int(-1 - i64::try_from(value).ok()?), rest),
        2 => rest.split_at_checked(length?).map(|(bytes, rest)| (Item::Bytes(bytes), rest))?,
        3 => {
            let (bytes, rest) = rest.split_at_checked(length?)?;
            (Item::Text(std::str::from_utf8(bytes).ok()?), rest)
        }
        4 => read_list(rest, length?, depth)?,
        5 => read_map(rest, length?, depth)?,
        7 => (Item::Simple, rest),
        _ => return None,
    })
}

/// The kind of an item, its value or length, and what follows.
fn head(input: &[u8]) -> Option<(u8, u64, &[u8])> {
    let (first, rest) = input.split_first()?;
    let size = match first & 0x1f {
        small @ 0..=23 => return Some((first >> 5, u64::from(small), rest)),
        code @ 24..=27 => 1usize << (code - 24),
        // Reserved, or of unknown length.
        _ => return None,
    };
    let (bytes, rest) = rest.split_at_checked(size)?;
    let value = bytes.iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    Some((first >> 5, value, rest))
}

fn read_list(mut rest: &[u8], length: usize, depth: usize) -> Option<(Item<'_>, &[u8])> {
    let mut items = Vec::new();
    for _ in 0..length {
        let (item, after) = read_at(rest, depth)?;
        items.push(item);
        rest = after;
    }
    Some((Item::List(items), rest))
}

fn read_map(mut rest: &[u8], length: usize, depth: usize) -> Option<(Item<'_>, &[u8])> {
    let mut entries = Vec::new();
    for _ in 0..length {
        let (key, after) = read_at(rest, depth)?;
        let (value, after) = read_at(after, depth)?;
        entries.push((key, value));
        rest = after;
    }
    Some((Item::Map(entries), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn items_are_read_as_in_rfc_8949() {
        let input = [0xa3, 0x01, 0x02, 0x20, 0x42, 7, 8, 0x61, b'a', 0x82, 0x18, 0xff, 0x39, 0x01, 0x00, 0xf6, 9];
        let map = Item::Map(vec![
            (Item::Int(1), Item::Int(2)),
            (Item::Int(-1), Item::Bytes(&[7, 8])),
            (Item::Text("a"), Item::List(vec![Item::Int(255), Item::Int(-257)])),
        ]);
        assert_eq!(read(&input), Some((map, &[0xf6u8, 9][..])));
        assert_eq!(read(&[0xf6]), Some((Item::Simple, &[][..])));
    }

    #[test]
    fn lengths_beyond_the_input_and_deep_nests_are_refused() {
        for input in [&[0x42u8, 1][..], &[0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], &[0x9f, 0x01, 0xff]] {
            assert_eq!(read(input), None);
        }
        assert_eq!(read(&[0xba, 0xff, 0xff, 0xff, 0xff]), None);
        assert_eq!(read(&[0x81; 100]), None);
    }

    proptest! {
        #[test]
        fn no_input_makes_it_panic(input in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&input);
        }
    }
}
