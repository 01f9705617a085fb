//! The lines of a statement, packed into 40 bytes each, in the order of their starts.

use crate::UnixMillis;

/// A line of a statement: a call as the upstream saw it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatementLine {
    /// Where it is in the file; in a workbook the row.
    pub line: u32,
    /// The digits of the called number.
    pub number: u64,
    pub started_at: UnixMillis,
    pub duration_seconds: u32,
    /// The cost of the call, or of a minute of it; the statement says which.
    pub nanos: i64,
    pub call_id: Option<Box<str>>,
}

/// All lines of a statement.
#[derive(Default)]
pub struct Lines {
    packed: Vec<Packed>,
    /// The texts of all call ids.
    call_ids: String,
}

struct Packed {
    started_at: UnixMillis,
    number: u64,
    nanos: i64,
    duration_seconds: u32,
    line: u32,
    /// Where its call id begins.
    call_id: u32,
    /// 0 without one.
    call_id_bytes: u8,
}

impl Lines {
    /// Longer call ids are cut.
    pub const MAX_CALL_ID_BYTES: usize = 255;

    /// Adds a line with the text of its call id, which may be empty.
    pub fn push(&mut self, line: StatementLine) {
        let StatementLine { line, number, started_at, duration_seconds, nanos, call_id } = line;
        let text = call_id.as_deref().unwrap_or_default();
        let cut = text.floor_char_boundary(Lines::MAX_CALL_ID_BYTES);
        // A file of 256 MiB has fewer bytes of call ids than 32 bits count.
        let begin = u32::try_from(self.call_ids.len()).unwrap_or(u32::MAX);
        self.call_ids.push_str(text.get(..cut).unwrap_or_default());
        let call_id_bytes = u8::try_from(cut).unwrap_or(u8::MAX);
        self.packed.push(Packed { started_at, number, nanos, duration_seconds, line, call_id: begin, call_id_bytes });
    }

    /// Sorts the lines by their starts, then as in the file.
    pub fn sort(&mut self) {
        self.packed.sort_unstable_by_key(|packed| (packed.started_at, packed.line));
    }

    pub fn len(&self) -> usize {
        self.packed.len()
    }

    pub fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    /// Whether any line has a call id.
    pub fn has_call_ids(&self) -> bool {
        !self.call_ids.is_empty()
    }

    /// How many of the sorted lines begin from `from` on and before `to`.
    pub fn count_between(&self, from: UnixMillis, to: UnixMillis) -> usize {
        let before = |end: UnixMillis| self.packed.partition_point(|packed| packed.started_at < end);
        before(to).saturating_sub(before(from))
    }

    /// The first and the last start of sorted lines.
    pub fn period(&self) -> Option<(UnixMillis, UnixMillis)> {
        Some((self.packed.first()?.started_at, self.packed.last()?.started_at))
    }

    /// The sorted lines that begin from `from` on and before `to`.
    pub fn between(&self, from: UnixMillis, to: UnixMillis) -> impl Iterator<Item = StatementLine> {
        let begin = self.packed.partition_point(|packed| packed.started_at < from);
        let rest = self.packed.get(begin..).unwrap_or_default();
        rest.iter().take_while(move |packed| packed.started_at < to).map(|packed| self.unpack(packed))
    }

    fn unpack(&self, packed: &Packed) -> StatementLine {
        let begin = packed.call_id as usize;
        let call_id = self.call_ids.get(begin..begin + usize::from(packed.call_id_bytes)).unwrap_or_default();
        StatementLine {
            line: packed.line,
            number: packed.number,
            started_at: packed.started_at,
            duration_seconds: packed.duration_seconds,
            nanos: packed.nanos,
            call_id: (!call_id.is_empty()).then(|| call_id.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_line_takes_40_bytes() {
        assert_eq!(size_of::<Packed>(), 40);
    }
}
