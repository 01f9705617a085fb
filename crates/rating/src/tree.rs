//! Prefixes in arrays built for longest-prefix match. A prefix may have several entries.
//!
//! ```text
//!   nodes          3      31     3120   3120       316    49  …   the prefix of each entry, sorted
//!     parent       –      0      1      1          1      –   …   the last entry of the next shorter prefix
//!     lengths      1      1 2    1 2 4  1 2 4      1 2 3  2   …   digits of the prefix and of its parents, as bits
//!   buckets        0      1      2      3     4     5     …   numbers by their first digits
//!     start        0      0      0      0     5     …         number of entries before those that begin so
//!     cover        –      –      –      0     –     …         the last entry of the longest prefix that all begin with
//! ```
//!
//! Everything between a prefix and a number that it covers begins with that prefix too. So the longest match of a
//! number, if any, is the last prefix that does not sort after it, or one of that prefix's parents; how many steps to go
//! up follows from the digits that both have in common.
//!
//! Reading far apart in memory is what takes time, so the buckets, at most twice as many as the nodes, know the answer
//! for most numbers: the longest match among the prefixes that have no more digits than a bucket. The few nodes in the
//! bucket are searched for a longer one.

use crate::Prefix;

/// The parent of an entry without one.
const NO_PARENT: u32 = u32::MAX;

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
    parent: u32,
    lengths: u16,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    start: u32,
    cover: Cover,
}

/// The index of an entry in the upper 28 bits and the digits of its prefix in the lower ones, so that a bucket has eight
/// bytes. Zero for none: every prefix has digits.
#[derive(Clone, Copy, Default, Debug)]
struct Cover(u32);

impl Cover {
    const MAX_INDEX: u32 = u32::MAX >> 4;

    fn new(index: u32, prefix: Prefix) -> Cover {
        Cover(index << 4 | prefix.digits())
    }

    fn of(self, number: Prefix) -> Option<(Prefix, usize)> {
        (self.0 != 0).then(|| (number.truncated(self.0 & 15), self.0 as usize >> 4))
    }
}

/// More entries than [`Cover::MAX_INDEX`].
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
    pub fn push(&mut self, prefix: Prefix) -> Result<(), TooMany> {
        let index =
            u32::try_from(self.tree.nodes.len()).ok().filter(|index| *index <= Cover::MAX_INDEX).ok_or(TooMany)?;
        while self.open.pop_if(|(cover, _)| *cover == prefix || !cover.covers(prefix)).is_some() {}
        let parent = self.open.last().map_or(NO_PARENT, |(_, parent)| *parent);
        let shorter = self.tree.nodes.get(parent as usize).map_or(0, |node| node.lengths);
        self.tree.nodes.push(Node { prefix, parent, lengths: shorter | 1 << prefix.digits() });
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

    /// The prefixes in order, starting at this one, each with the index of its last entry.
    pub fn from(&self, prefix: Prefix) -> impl Iterator<Item = (Prefix, usize)> {
        let begin = self.index_from(prefix);
        let nodes = self.nodes.get(begin..).unwrap_or_default();
        nodes.chunk_by(|one, next| one.prefix == next.prefix).scan(begin, |end, same| {
            *end += same.len();
            Some((same.first()?.prefix, *end - 1))
        })
    }

    /// The longest prefix of a number that has entries, and the index of its last entry.
    pub fn longest(&self, number: Prefix) -> Option<(Prefix, usize)> {
        let rank = number.rank(self.bucket_digits);
        let (begin, nodes) = self.nodes_of(rank);
        let last = nodes.partition_point(|node| node.prefix <= number).checked_sub(1);
        let longer = last.and_then(|last| self.longest_from(begin + last, number));
        longer.or_else(|| self.buckets.get(rank)?.cover.of(number))
    }

    /// The longest match with more digits than a bucket, given the last entry that does not sort after the number.
    fn longest_from(&self, mut index: usize, number: Prefix) -> Option<(Prefix, usize)> {
        let Node { prefix, lengths, .. } = *self.nodes.get(index)?;
        let covering = lengths & u16::MAX >> (Prefix::MAX_DIGITS - prefix.common_digits(number));
        let digits = covering.checked_ilog2().filter(|digits| *digits > self.bucket_digits)?;
        for _ in 0..(lengths ^ covering).count_ones() {
            index = self.parent(index)?;
        }
        Some((number.truncated(digits), index))
    }

    /// The next shorter prefix of the same numbers, and the index of its last entry.
    pub fn shorter(&self, index: usize) -> Option<(Prefix, usize)> {
        let parent = self.parent(index)?;
        Some((self.nodes.get(parent)?.prefix, parent))
    }

    /// The prefixes of a number that have entries, longest first, each with the index of its last entry.
    pub fn covering(&self, number: Prefix) -> impl Iterator<Item = (Prefix, usize)> {
        std::iter::successors(self.longest(number), |(_, index)| self.shorter(*index))
    }

    /// The index of the last entry of exactly this prefix.
    pub fn last(&self, prefix: Prefix) -> Option<usize> {
        let last = self.count_up_to(prefix).checked_sub(1)?;
        (self.nodes.get(last)?.prefix == prefix).then_some(last)
    }

    /// The index of the first entry whose prefix does not sort before this one.
    pub fn index_from(&self, prefix: Prefix) -> usize {
        let (begin, bucket) = self.nodes_of(prefix.rank(self.bucket_digits));
        begin + bucket.partition_point(|node| node.prefix < prefix)
    }

    /// The number of entries whose prefix does not sort after this one.
    fn count_up_to(&self, prefix: Prefix) -> usize {
        let (begin, bucket) = self.nodes_of(prefix.rank(self.bucket_digits));
        begin + bucket.partition_point(|node| node.prefix <= prefix)
    }

    fn parent(&self, index: usize) -> Option<usize> {
        match self.nodes.get(index)?.parent {
            NO_PARENT => None,
            parent => Some(parent as usize),
        }
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
            self.buckets.push(Bucket { start, cover: Cover::default() });
        }
        for (index, node) in (0..).zip(&self.nodes) {
            let Some(free_digits) = digits.checked_sub(node.prefix.digits()) else { continue };
            let first = node.prefix.rank(digits);
            let covered = self.buckets.get_mut(first..first + Prefix::RANKS.pow(free_digits)).unwrap_or_default();
            for bucket in covered {
                bucket.cover = Cover::new(index, node.prefix);
            }
        }
    }
}
