//! Prefixes in arrays built for longest-prefix match. A prefix may have several entries, each with a value.
//!
//! ```text
//!   nodes          3      31     3120   3120       316    49  …   the prefix of each entry, sorted, and its value
//!     parent       –      0      1      1          1      –   …   the last entry of the next shorter prefix
//!     lengths      1      1 2    1 2 4  1 2 4      1 2 3  2   …   digits of the prefix and of its parents, as bits
//!   buckets        0      1      2      3     4     5     …   numbers by their first digits
//!     start        0      0      0      0     5     …         number of entries before those that begin so
//!     cover        –      –      –      0     –     …         the last entry of the longest prefix that all begin with
//!     next         –      –      –      1     9     …         the digits that follow in prefixes with more digits
//! ```
//!
//! Everything between a prefix and a number that it covers begins with that prefix too. So the longest match of a
//! number, if any, is the last prefix that does not sort after it, or one of that prefix's parents; how many steps to go
//! up follows from the digits that both have in common.
//!
//! Reading far apart in memory is what takes time, so the buckets, at most twice as many as the nodes, know the answer
//! for most numbers: the longest match among the prefixes that have no more digits than a bucket. Its nodes are searched
//! for a longer one only if some continue with the next digit of the number.

use crate::Prefix;

/// In place of the index of an entry: there are fewer.
const NONE: u32 = u32::MAX;

#[derive(Default, Debug)]
pub(crate) struct PrefixTree {
    nodes: Vec<Node>,
    /// By the [`Prefix::rank`] of the first digits; the last one is for its start alone.
    buckets: Vec<Bucket>,
    /// The number of first digits that have a bucket of their own.
    bucket_digits: u32,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    prefix: Prefix,
    value: u32,
    parent: u32,
    lengths: u16,
}

#[derive(Clone, Copy, Default, Debug)]
struct Bucket {
    start: u32,
    cover: u32,
    /// Value and lengths of the cover; no lengths without one.
    value: u32,
    lengths: u16,
    /// By [`Prefix::digit_code`], as bits.
    next: u16,
}

/// A prefix with entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Found {
    pub prefix: Prefix,
    /// The index of its last entry.
    pub last: usize,
    /// The value of that entry.
    pub value: u32,
}

/// More entries than fit into 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TooMany;

/// Builds a tree from prefixes, pushed in order.
#[derive(Default)]
pub(crate) struct TreeBuilder {
    tree: PrefixTree,
    /// The latest entries of the prefixes that may cover the next one, longest last.
    open: Vec<(Prefix, u32)>,
}

impl TreeBuilder {
    pub fn push(&mut self, prefix: Prefix, value: u32) -> Result<(), TooMany> {
        let index = u32::try_from(self.tree.nodes.len()).ok().filter(|index| *index != NONE).ok_or(TooMany)?;
        while self.open.pop_if(|(cover, _)| *cover == prefix || !cover.covers(prefix)).is_some() {}
        let parent = self.open.last().map_or(NONE, |(_, parent)| *parent);
        let shorter = self.tree.nodes.get(parent as usize).map_or(0, |node| node.lengths);
        self.tree.nodes.push(Node { prefix, value, parent, lengths: shorter | 1 << prefix.digits() });
        self.open.push((prefix, index));
        Ok(())
    }

    pub fn finish(self) -> PrefixTree {
        let mut tree = self.tree;
        tree.nodes.shrink_to_fit();
        tree.build_buckets();
        tree
    }
}

impl PrefixTree {
    /// Memory used, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self.nodes.as_slice()) + size_of_val(self.buckets.as_slice())
    }

    /// The prefixes in order, starting at this one.
    pub fn from(&self, prefix: Prefix) -> impl Iterator<Item = Found> {
        let begin = self.index_from(prefix);
        let nodes = self.nodes.get(begin..).unwrap_or_default();
        nodes.chunk_by(|one, next| one.prefix == next.prefix).scan(begin, |end, same| {
            *end += same.len();
            let Node { prefix, value, .. } = *same.last()?;
            Some(Found { prefix, last: *end - 1, value })
        })
    }

    /// The longest prefix of a number that has entries.
    pub fn longest(&self, number: Prefix) -> Option<Found> {
        let rank = number.rank(self.bucket_digits);
        let bucket = self.buckets.get(rank)?;
        if bucket.next & 1 << number.digit_code(self.bucket_digits) != 0
            && let Some(longer) = self.longest_in(rank, number)
        {
            return Some(longer);
        }
        let prefix = number.truncated(bucket.lengths.checked_ilog2()?);
        Some(Found { prefix, last: bucket.cover as usize, value: bucket.value })
    }

    /// The longest match with more digits than the bucket of a number.
    fn longest_in(&self, rank: usize, number: Prefix) -> Option<Found> {
        let (begin, nodes) = self.nodes_of(rank);
        let last = nodes.partition_point(|node| node.prefix <= number).checked_sub(1)?;
        let Node { prefix, lengths, .. } = *nodes.get(last)?;
        let covering = lengths & u16::MAX >> (Prefix::MAX_DIGITS - prefix.common_digits(number));
        covering.checked_ilog2().filter(|digits| *digits > self.bucket_digits)?;
        let mut index = begin + last;
        for _ in 0..(lengths ^ covering).count_ones() {
            index = self.nodes.get(index)?.parent as usize;
        }
        self.found(index)
    }

    /// The next shorter prefix of the same numbers.
    pub fn shorter(&self, found: Found) -> Option<Found> {
        self.found(self.nodes.get(found.last)?.parent as usize)
    }

    /// The prefixes of a number that have entries, longest first.
    pub fn covering(&self, number: Prefix) -> impl Iterator<Item = Found> {
        std::iter::successors(self.longest(number), |found| self.shorter(*found))
    }

    /// Exactly this prefix, if it has entries.
    pub fn get(&self, prefix: Prefix) -> Option<Found> {
        let last = self.count_up_to(prefix).checked_sub(1)?;
        self.found(last).filter(|found| found.prefix == prefix)
    }

    /// The values of all entries of a prefix, in order.
    pub fn values(&self, found: Found) -> impl DoubleEndedIterator<Item = u32> {
        let nodes = self.nodes.get(self.index_from(found.prefix)..=found.last).unwrap_or_default();
        nodes.iter().map(|node| node.value)
    }

    /// The prefix whose last entry has this index.
    fn found(&self, last: usize) -> Option<Found> {
        let Node { prefix, value, .. } = *self.nodes.get(last)?;
        Some(Found { prefix, last, value })
    }

    /// The index of the first entry whose prefix does not sort before this one.
    fn index_from(&self, prefix: Prefix) -> usize {
        let (begin, bucket) = self.nodes_of(prefix.rank(self.bucket_digits));
        begin + bucket.partition_point(|node| node.prefix < prefix)
    }

    /// The number of entries whose prefix does not sort after this one.
    fn count_up_to(&self, prefix: Prefix) -> usize {
        let (begin, bucket) = self.nodes_of(prefix.rank(self.bucket_digits));
        begin + bucket.partition_point(|node| node.prefix <= prefix)
    }

    /// The nodes of the bucket with this rank, and the index of the first of them.
    fn nodes_of(&self, rank: usize) -> (usize, &[Node]) {
        let start = |rank: usize| self.buckets.get(rank).map_or(0, |bucket| bucket.start as usize);
        let (begin, end) = (start(rank), start(rank + 1));
        (begin, self.nodes.get(begin..end).unwrap_or_default())
    }

    /// Uses as many digits as keep the buckets within twice the number of entries.
    fn build_buckets(&mut self) {
        let digits = (2 * self.nodes.len()).checked_ilog(Prefix::RANKS).unwrap_or(0).min(Prefix::MAX_RANKED);
        self.bucket_digits = digits;
        self.buckets.reserve_exact(Prefix::RANKS.pow(digits) + 1);
        let (mut start, mut rest) = (0, self.nodes.iter().peekable());
        for rank in 0..=Prefix::RANKS.pow(digits) {
            while rest.next_if(|node| node.prefix.rank(digits) < rank).is_some() {
                start += 1;
            }
            self.buckets.push(Bucket { start, ..Bucket::default() });
        }
        for (index, node) in (0..).zip(&self.nodes) {
            let (first, length) = (node.prefix.rank(digits), node.prefix.digits());
            let count = Prefix::RANKS.pow(digits.saturating_sub(length));
            for bucket in self.buckets.get_mut(first..first + count).unwrap_or_default() {
                if length > digits {
                    bucket.next |= 1 << node.prefix.digit_code(digits);
                } else {
                    (bucket.cover, bucket.value, bucket.lengths) = (index, node.value, node.lengths);
                }
            }
        }
    }
}
