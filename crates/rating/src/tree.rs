//! Prefixes in arrays built for longest-prefix match. A prefix may have several entries.
//!
//! ```text
//!   nodes          3      31     3120   3120       316    49  …   the prefix of each entry, sorted
//!     parent       –      0      1      1          1      –   …   the last entry of the next shorter prefix
//!     lengths      1      1 2    1 2 4  1 2 4      1 2 3  2   …   digits of the prefix and of its parents, as bits
//!   bucket_starts  number of entries before those that begin with 0, with 1, and so on
//! ```
//!
//! The longest match of a number, if any, is the last prefix that does not sort after it, or one of that prefix's
//! parents: everything between a prefix and a number that it covers begins with that prefix too. So one binary search
//! finds it, and a few steps from parent to parent. How many follows from the digits that both have in common, so the
//! nodes on the way, each of them far away in memory, are read for their parents only.
//!
//! `bucket_starts`, at most twice as long as the nodes, narrows the binary search to a few of them.

use crate::Prefix;

/// The parent of an entry without one.
const NO_PARENT: u32 = u32::MAX;

#[derive(Default, Debug)]
pub(crate) struct PrefixTree {
    nodes: Vec<Node>,
    bucket_starts: Vec<u32>,
    /// The right shift from a prefix's code to its index in `bucket_starts`.
    bucket_shift: u32,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    prefix: Prefix,
    parent: u32,
    lengths: u16,
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
    pub fn push(&mut self, prefix: Prefix) -> Result<(), TooMany> {
        let index = u32::try_from(self.tree.nodes.len()).ok().filter(|index| *index != NO_PARENT).ok_or(TooMany)?;
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
        size_of_val(self.nodes.as_slice()) + size_of_val(self.bucket_starts.as_slice())
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
        let mut index = self.count_up_to(number).checked_sub(1)?;
        let Node { prefix, lengths, .. } = *self.nodes.get(index)?;
        let covering = lengths & u16::MAX >> (Prefix::MAX_DIGITS - prefix.common_digits(number));
        let digits = covering.checked_ilog2()?;
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
        let (begin, bucket) = self.bucket(prefix);
        begin + bucket.partition_point(|node| node.prefix < prefix)
    }

    /// The number of entries whose prefix does not sort after this one.
    fn count_up_to(&self, prefix: Prefix) -> usize {
        let (begin, bucket) = self.bucket(prefix);
        begin + bucket.partition_point(|node| node.prefix <= prefix)
    }

    fn parent(&self, index: usize) -> Option<usize> {
        match self.nodes.get(index)?.parent {
            NO_PARENT => None,
            parent => Some(parent as usize),
        }
    }

    /// The nodes with the same first digits, and the index of the first of them.
    fn bucket(&self, prefix: Prefix) -> (usize, &[Node]) {
        let bucket = (prefix.code() >> self.bucket_shift) as usize;
        let start = |bucket| self.bucket_starts.get(bucket).map_or(0, |start| *start as usize);
        let (begin, end) = (start(bucket), start(bucket + 1));
        (begin, self.nodes.get(begin..end).unwrap_or_default())
    }

    /// Uses as many digits as keep the table within twice the number of entries.
    fn build_buckets(&mut self) {
        let digits = (2 * self.nodes.len()).checked_ilog2().unwrap_or(0) / 4;
        self.bucket_shift = 4 * (Prefix::MAX_DIGITS - digits.min(Prefix::MAX_DIGITS));
        let buckets = 1 << (4 * digits);
        self.bucket_starts = Vec::with_capacity(buckets + 1);
        let (mut before, mut rest) = (0, self.nodes.iter().peekable());
        for bucket in 0..=buckets as u64 {
            while rest.next_if(|node| node.prefix.code() >> self.bucket_shift < bucket).is_some() {
                before += 1;
            }
            self.bucket_starts.push(before);
        }
    }
}
