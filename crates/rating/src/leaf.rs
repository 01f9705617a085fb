//! A deck as it is stored: leaves of up to 4096 prefixes with all their entries, as bytes that explain themselves.
//!
//! ```text
//!   version, 1
//!   destinations: how many, and of each its country, the length of its name, its name
//!   offers:       how many, and of each its minute, connect fee, increment, minimum, destination
//!   prefixes:     how many, and of each
//!                     the zero digits its step ends with + 16 × (entries − 1), the step from the prefix before it
//!                     of each entry: its moment since that of the entry before it, its offer + 1 or 0 for an end
//!   CRC-32 of all this, four bytes, lowest first
//! ```
//!
//! Numbers take seven bits to a byte, lowest first. What is read is checked in full: bytes that were damaged are an
//! error, never another price.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::deck::BadDeck;
use crate::{Country, Destination, Entry, Offer, Prefix, Rate};

const VERSION: u8 = 1;
const CHECKSUM_BYTES: usize = 4;

/// Bytes that are no leaf, and what is wrong with them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Damaged(&'static str);

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a leaf of the deck is damaged: {}", self.0)
    }
}

impl std::error::Error for Damaged {}

/// A run of prefixes with all their entries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Leaf {
    pub first: Prefix,
    pub last: Prefix,
    pub prefixes: u32,
    pub body: Vec<u8>,
}

impl Leaf {
    pub const MOST_PREFIXES: u32 = 4096;
}

/// Cuts entries, which come in the order of [`Entry::place`], into leaves.
pub fn leaves<E: Iterator<Item = Entry>>(entries: E) -> impl Iterator<Item = Result<Leaf, BadDeck>> {
    let mut entries = entries.peekable();
    std::iter::from_fn(move || {
        let first = entries.next()?;
        let mut last = first.prefix;
        let (mut run, mut prefixes) = (vec![first], 1);
        while let Some(entry) = entries.next_if(|entry| entry.prefix == last || prefixes < Leaf::MOST_PREFIXES) {
            prefixes += u32::from(entry.prefix != last);
            last = entry.prefix;
            run.push(entry);
        }
        Some(encode(&run, prefixes))
    })
}

fn encode(run: &[Entry], prefixes: u32) -> Result<Leaf, BadDeck> {
    let (Some(first), Some(last)) = (run.first(), run.last()) else { return Err(BadDeck::TooMany) };
    if let Some(pair) = run.windows(2).find(|pair| matches!(pair, [one, next] if one.place() >= next.place())) {
        return Err(BadDeck::Disorder(pair.last().map_or(first.prefix, |entry| entry.prefix)));
    }
    let mut dictionary = Dictionary::default();
    let mut body = Vec::with_capacity(run.len() * 4);
    put(&mut body, u64::from(prefixes));
    let (mut code_before, mut moment_before) = (0, 0_i64);
    for entries in run.chunk_by(|one, next| one.prefix == next.prefix) {
        let code = entries.first().map_or(0, |entry| entry.prefix.code());
        let step = code - code_before;
        let zeros = step.trailing_zeros() / 4;
        put(&mut body, u64::from(zeros) + 16 * (entries.len() as u64 - 1));
        put(&mut body, step >> (4 * zeros));
        code_before = code;
        for entry in entries {
            let step = entry.effective_at.wrapping_sub(moment_before);
            put(&mut body, (step << 1 ^ step >> 63) as u64);
            put(&mut body, entry.offer.as_ref().map_or(0, |offer| dictionary.offer(offer) + 1));
            moment_before = entry.effective_at;
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

/// What the entries of a leaf share.
#[derive(Default)]
struct Dictionary<'e> {
    destination_index: HashMap<&'e Destination, u64, RandomState>,
    destinations: Vec<&'e Destination>,
    /// The destination of the entry before, which mostly is this one's too.
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

/// The entries of a leaf, in their order.
pub fn decode(leaf: &[u8]) -> Result<Vec<Entry>, Damaged> {
    let (content, checksum) = leaf.split_last_chunk::<CHECKSUM_BYTES>().ok_or(Damaged("it is too short"))?;
    if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
        return Err(Damaged("its checksum is wrong"));
    }
    let mut reader = Reader(content);
    if reader.take(1)? != [VERSION] {
        return Err(Damaged("its version is unknown"));
    }
    let destinations = reader.list(Reader::destination)?;
    let offers = reader.list(|reader| reader.offer(&destinations))?;
    let entries = reader.entries(&offers)?;
    if reader.0.is_empty() { Ok(entries) } else { Err(Damaged("there is more than it should hold")) }
}

struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn take(&mut self, length: usize) -> Result<&'b [u8], Damaged> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Damaged("it ends too soon"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u64, Damaged> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or(Damaged("it ends too soon"))?;
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
        Err(Damaged("a number is too large"))
    }

    fn small<T: TryFrom<u64>>(&mut self) -> Result<T, Damaged> {
        T::try_from(self.number()?).map_err(|_| Damaged("a number is too large"))
    }

    /// Whatever is counted takes at least a byte, so a count can ask for no more memory than the leaf deserves.
    fn count(&mut self) -> Result<usize, Damaged> {
        let count = self.small()?;
        if count > self.0.len() { Err(Damaged("it ends too soon")) } else { Ok(count) }
    }

    fn list<T>(&mut self, read: impl Fn(&mut Self) -> Result<T, Damaged>) -> Result<Vec<T>, Damaged> {
        let count = self.count()?;
        (0..count).map(|_| read(self)).collect()
    }

    fn destination(&mut self) -> Result<Arc<Destination>, Damaged> {
        let country = str::from_utf8(self.take(2)?).ok().and_then(Country::new).ok_or(Damaged("a country is none"))?;
        let length = self.count()?;
        let name = str::from_utf8(self.take(length)?).map_err(|_| Damaged("a name is not UTF-8"))?;
        Ok(Arc::new(Destination { name: name.into(), country }))
    }

    fn offer(&mut self, destinations: &[Arc<Destination>]) -> Result<Offer, Damaged> {
        let rate = Rate::new(self.small()?, self.small()?, self.small()?, self.small()?);
        let rate = rate.map_err(|_| Damaged("a rate is out of bounds"))?;
        let destination = destinations.get(self.small::<usize>()?).ok_or(Damaged("a destination is missing"))?;
        Ok(Offer { rate, destination: Arc::clone(destination) })
    }

    fn entries(&mut self, offers: &[Offer]) -> Result<Vec<Entry>, Damaged> {
        let prefixes: u32 = self.small()?;
        if prefixes > Leaf::MOST_PREFIXES {
            return Err(Damaged("it has too many prefixes"));
        }
        let mut entries = Vec::with_capacity(self.0.len() / 4);
        let (mut code, mut moment) = (0, 0_i64);
        for _ in 0..prefixes {
            let head = self.number()?;
            let step = self.number()?.checked_mul(1 << (4 * (head & 15))).filter(|step| *step > 0);
            code = step.and_then(|step| step.checked_add(code)).ok_or(Damaged("a prefix is out of order"))?;
            let prefix = Prefix::from_code(code).ok_or(Damaged("a prefix is none"))?;
            for nth in 0..=head >> 4 {
                let step = self.number()?;
                let before = moment;
                moment = moment.wrapping_add((step >> 1) as i64 ^ -((step & 1) as i64));
                if nth > 0 && moment <= before {
                    return Err(Damaged("a moment is out of order"));
                }
                let offer = match self.small::<usize>()?.checked_sub(1) {
                    None => None,
                    Some(index) => Some(offers.get(index).ok_or(Damaged("an offer is missing"))?.clone()),
                };
                entries.push(Entry { prefix, effective_at: moment, offer });
            }
        }
        Ok(entries)
    }
}
