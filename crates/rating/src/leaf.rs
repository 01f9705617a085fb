//! The storage format of a deck: leaves of up to 4096 prefixes with all their entries. A leaf is self-contained.
//!
//! ```text
//!   version, 2
//!   destinations: count, then for each: country, length of the name, name
//!   offers:       count, then for each: nanos per minute, connect fee, increment, minimum, destination index
//!   prefixes:     count, then for each:
//!                     trailing zero digits of the delta + 16 × (entries − 1), delta to the previous prefix
//!                     for each entry: delta to the previous entry's time (zigzag), and 0 for an end,
//!                         2 × offer index + 1 for an offer, or 2 × offer index + 2 for a back-dated one
//!   CRC-32 of all this, four bytes, little-endian
//! ```
//!
//! In version 1, which is still read, an offer was its index + 1.
//!
//! Numbers are LEB128 (seven bits per byte, lowest first). Decoding checks everything: corrupt bytes are an error,
//! never a different price.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::deck::DeckError;
use crate::{Country, Destination, Entry, Offer, Prefix, Rate, UnixMillis};

const VERSION: u8 = 2;
const CHECKSUM_BYTES: usize = 4;

/// The bytes are not a valid leaf, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeafError(&'static str);

impl fmt::Display for LeafError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "corrupt deck leaf: {}", self.0)
    }
}

impl std::error::Error for LeafError {}

/// An encoded range of prefixes with all their entries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Leaf {
    pub first: Prefix,
    pub last: Prefix,
    pub prefixes: u32,
    pub body: Vec<u8>,
}

impl Leaf {
    pub const MAX_PREFIXES: u32 = 4096;
}

/// Encodes entries into leaves. The entries must be in the order of [`Entry::sort_key`].
pub fn encode_leaves<E: Iterator<Item = Entry>>(entries: E) -> impl Iterator<Item = Result<Leaf, DeckError>> {
    let mut entries = entries.peekable();
    std::iter::from_fn(move || {
        let first = entries.next()?;
        let mut last = first.prefix;
        let (mut run, mut prefixes) = (vec![first], 1);
        while let Some(entry) = entries.next_if(|entry| entry.prefix == last || prefixes < Leaf::MAX_PREFIXES) {
            prefixes += u32::from(entry.prefix != last);
            last = entry.prefix;
            run.push(entry);
        }
        Some(encode(&run, prefixes))
    })
}

fn encode(run: &[Entry], prefixes: u32) -> Result<Leaf, DeckError> {
    let (Some(first), Some(last)) = (run.first(), run.last()) else { return Err(DeckError::TooManyEntries) };
    if let Some(pair) = run.windows(2).find(|pair| matches!(pair, [one, next] if one.sort_key() >= next.sort_key())) {
        return Err(DeckError::OutOfOrder(pair.last().map_or(first.prefix, |entry| entry.prefix)));
    }
    let mut dictionary = Dictionary::default();
    let mut body = Vec::with_capacity(run.len() * 4);
    put(&mut body, u64::from(prefixes));
    let (mut previous_code, mut previous_time) = (0, 0_i64);
    for entries in run.chunk_by(|one, next| one.prefix == next.prefix) {
        let code = entries.first().map_or(0, |entry| entry.prefix.code());
        let delta = code - previous_code;
        let zeros = delta.trailing_zeros() / 4;
        put(&mut body, u64::from(zeros) + 16 * (entries.len() as u64 - 1));
        put(&mut body, delta >> (4 * zeros));
        previous_code = code;
        for entry in entries {
            let delta = entry.effective_at.wrapping_sub(previous_time);
            put(&mut body, (delta << 1 ^ delta >> 63) as u64);
            let offer = entry.offer.as_ref().map(|offer| 2 * dictionary.offer(offer) + 1);
            put(&mut body, offer.map_or(0, |offer| offer + u64::from(entry.is_back_dated)));
            previous_time = entry.effective_at;
        }
    }
    let mut bytes = vec![VERSION];
    dictionary.write(&mut bytes);
    bytes.append(&mut body);
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(checksum.to_le_bytes());
    Ok(Leaf { first: first.prefix, last: last.prefix, prefixes, body: bytes })
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The destinations and offers of a leaf, each once.
#[derive(Default)]
struct Dictionary<'e> {
    destination_index: HashMap<&'e Destination, u64, RandomState>,
    destinations: Vec<&'e Destination>,
    /// The destination of the previous entry: a shortcut, since most entries repeat it.
    latest: Option<(&'e Arc<Destination>, u64)>,
    offer_index: HashMap<(Rate, u64), u64, RandomState>,
    offers: Vec<(Rate, u64)>,
}

impl<'e> Dictionary<'e> {
    fn offer(&mut self, offer: &'e Offer) -> u64 {
        let destination = self.destination(&offer.destination);
        let next = self.offers.len() as u64;
        let index = *self.offer_index.entry((offer.rate, destination)).or_insert(next);
        if index == next {
            self.offers.push((offer.rate, destination));
        }
        index
    }

    fn destination(&mut self, destination: &'e Arc<Destination>) -> u64 {
        if let Some((latest, index)) = self.latest
            && Arc::ptr_eq(latest, destination)
        {
            return index;
        }
        let next = self.destinations.len() as u64;
        let index = *self.destination_index.entry(destination).or_insert(next);
        if index == next {
            self.destinations.push(destination);
        }
        self.latest = Some((destination, index));
        index
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        put(bytes, self.destinations.len() as u64);
        for destination in &self.destinations {
            bytes.extend(destination.country.as_str().as_bytes());
            put(bytes, destination.name.len() as u64);
            bytes.extend(destination.name.as_bytes());
        }
        put(bytes, self.offers.len() as u64);
        for (rate, destination) in &self.offers {
            put(bytes, rate.nanos_per_minute().unsigned_abs());
            put(bytes, rate.connect_fee_nanos().unsigned_abs());
            put(bytes, u64::from(rate.increment_seconds()));
            put(bytes, u64::from(rate.minimum_seconds()));
            put(bytes, *destination);
        }
    }
}

/// When a file was applied to the deck before, and when the new deck came into force.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeckTimes {
    pub made_at: UnixMillis,
    pub in_force_at: UnixMillis,
}

/// The entries of a leaf of a deck in force. The deck before was in force until `in_force_at`, so what was to begin
/// since `made_at` begins then.
pub fn read_leaf(leaf: &[u8], times: DeckTimes) -> Result<impl Iterator<Item = Entry>, LeafError> {
    let mut entries = decode_leaf(leaf)?.into_iter().peekable();
    let is_between = move |entry: &Entry| (times.made_at..times.in_force_at).contains(&entry.effective_at);
    Ok(std::iter::from_fn(move || {
        let mut entry = entries.next()?;
        if is_between(&entry) {
            let prefix = entry.prefix;
            let has_begun = |next: &Entry| next.prefix == prefix && next.effective_at <= times.in_force_at;
            while let Some(next) = entries.next_if(has_begun) {
                entry = next;
            }
            entry.effective_at = times.in_force_at;
        }
        Some(entry)
    }))
}

/// Decodes the entries of a leaf, in order.
pub fn decode_leaf(leaf: &[u8]) -> Result<Vec<Entry>, LeafError> {
    let (content, checksum) = leaf.split_last_chunk::<CHECKSUM_BYTES>().ok_or(LeafError("too short"))?;
    if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
        return Err(LeafError("wrong checksum"));
    }
    let mut reader = Reader(content);
    let version = match reader.take(1)? {
        [version @ 1..=VERSION] => *version,
        _ => return Err(LeafError("unknown version")),
    };
    let destinations = reader.list(Reader::destination)?;
    let offers = reader.list(|reader| reader.offer(&destinations))?;
    let entries = reader.entries(&offers, version)?;
    if reader.0.is_empty() { Ok(entries) } else { Err(LeafError("trailing bytes")) }
}

struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn take(&mut self, length: usize) -> Result<&'b [u8], LeafError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(LeafError("unexpected end"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u64, LeafError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or(LeafError("unexpected end"))?;
            self.0 = rest;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(LeafError("a number is too large"))
    }

    fn small<T: TryFrom<u64>>(&mut self) -> Result<T, LeafError> {
        T::try_from(self.number()?).map_err(|_| LeafError("a number is too large"))
    }

    /// Each counted item takes at least one byte, so a corrupt count cannot allocate more than the size of the leaf.
    fn count(&mut self) -> Result<usize, LeafError> {
        let count = self.small()?;
        if count > self.0.len() { Err(LeafError("unexpected end")) } else { Ok(count) }
    }

    fn list<T>(&mut self, read: impl Fn(&mut Self) -> Result<T, LeafError>) -> Result<Vec<T>, LeafError> {
        let count = self.count()?;
        (0..count).map(|_| read(self)).collect()
    }

    fn destination(&mut self) -> Result<Arc<Destination>, LeafError> {
        let country = str::from_utf8(self.take(2)?).ok().and_then(Country::new).ok_or(LeafError("invalid country"))?;
        let length = self.count()?;
        let name = str::from_utf8(self.take(length)?).map_err(|_| LeafError("a destination name is not UTF-8"))?;
        Ok(Arc::new(Destination { name: name.into(), country }))
    }

    fn offer(&mut self, destinations: &[Arc<Destination>]) -> Result<Offer, LeafError> {
        let rate = Rate::new(self.small()?, self.small()?, self.small()?, self.small()?);
        let rate = rate.map_err(|_| LeafError("a rate is out of bounds"))?;
        let destination = destinations.get(self.small::<usize>()?).ok_or(LeafError("a destination is missing"))?;
        Ok(Offer { rate, destination: Arc::clone(destination) })
    }

    fn entries(&mut self, offers: &[Offer], version: u8) -> Result<Vec<Entry>, LeafError> {
        let prefixes: u32 = self.small()?;
        if prefixes > Leaf::MAX_PREFIXES {
            return Err(LeafError("too many prefixes"));
        }
        let mut entries = Vec::with_capacity(self.0.len() / 4);
        let (mut code, mut time) = (0, 0_i64);
        for _ in 0..prefixes {
            let head = self.number()?;
            let delta = self.number()?.checked_mul(1 << (4 * (head & 15))).filter(|delta| *delta > 0);
            code = delta.and_then(|delta| delta.checked_add(code)).ok_or(LeafError("a prefix is out of order"))?;
            let prefix = Prefix::from_code(code).ok_or(LeafError("invalid prefix"))?;
            for nth in 0..=head >> 4 {
                let delta = self.number()?;
                let previous = time;
                time = time.wrapping_add((delta >> 1) as i64 ^ -((delta & 1) as i64));
                if nth > 0 && time <= previous {
                    return Err(LeafError("an effective time is out of order"));
                }
                let (index, is_back_dated) = match (self.small::<usize>()?.checked_sub(1), version) {
                    (Some(offer), 2..) => (Some(offer / 2), offer % 2 == 1),
                    (index, _) => (index, false),
                };
                let offer = index.map(|index| offers.get(index).cloned().ok_or(LeafError("an offer is missing")));
                entries.push(Entry { prefix, effective_at: time, offer: offer.transpose()?, is_back_dated });
            }
        }
        Ok(entries)
    }
}
