//! Cuts a CSV text into records, strictly: a quote that is never closed, or text behind a closing one, is an error and
//! does not swallow the rows that follow.
//!
//! Lines end with LF or CRLF. A field that begins with a quote ends with one, may go on over lines, and holds a quote
//! as two. A quote further inside a field is a character like any other.

use std::io::{self, BufRead, Read};
use std::ops::Range;

/// What one record may have at most, over all its lines.
const MOST_BYTES: usize = 64 * 1024;
/// How far a quote may reach.
const MOST_LINES: u64 = 64;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

pub struct Records<R> {
    source: R,
    /// How many lines have been read.
    lines: u64,
    record: Record,
}

/// The fields of one record, without their quotes.
#[derive(Default)]
pub struct Record {
    pub line: u64,
    raw: Vec<u8>,
    text: Vec<u8>,
    fields: Vec<Range<usize>>,
}

/// Why a record cannot be read.
#[derive(Debug)]
pub enum Unreadable {
    Io(io::Error),
    /// The line and the reason. Reading may go on with the next line.
    Line(u64, &'static str),
    /// As before, but there is no telling where the next record begins.
    Rest(u64, &'static str),
}

impl<R: BufRead> Records<R> {
    pub fn new(source: R) -> Records<R> {
        Records { source, lines: 0, record: Record::default() }
    }

    /// The next record that is not blank, cut at the delimiter.
    pub fn next(&mut self, delimiter: u8) -> Result<Option<&Record>, Unreadable> {
        loop {
            self.record.raw.clear();
            if !self.line()? {
                return Ok(None);
            }
            self.record.line = self.lines;
            if self.lines == 1 && self.record.raw.starts_with(BYTE_ORDER_MARK) {
                self.record.raw.drain(..BYTE_ORDER_MARK.len());
            }
            if !self.record.raw.trim_ascii().is_empty() {
                break;
            }
        }
        while !self.record.cut(delimiter)? {
            self.record.raw.push(b'\n');
            if self.lines - self.record.line >= MOST_LINES || !self.line()? {
                return Err(Unreadable::Rest(self.record.line, "a quote is opened and not closed within 64 lines"));
            }
        }
        Ok(Some(&self.record))
    }

    /// How many lines have been read.
    pub fn line_count(&self) -> u64 {
        self.lines
    }

    /// The same record, cut at another delimiter.
    pub fn again(&mut self, delimiter: u8) -> Result<&Record, Unreadable> {
        self.record.cut(delimiter)?;
        Ok(&self.record)
    }

    /// Appends a line without its end; answers whether there was one.
    fn line(&mut self) -> Result<bool, Unreadable> {
        let raw = &mut self.record.raw;
        let before = raw.len();
        let room = (MOST_BYTES + 2).saturating_sub(before) as u64;
        let read = self.source.by_ref().take(room).read_until(b'\n', raw).map_err(Unreadable::Io)?;
        self.lines += u64::from(read > 0);
        let ended = raw.pop_if(|byte| *byte == b'\n').is_some();
        if raw.len() > before {
            raw.pop_if(|byte| ended && *byte == b'\r');
        }
        if raw.len() > MOST_BYTES {
            return Err(Unreadable::Rest(self.lines, "the row is longer than 65536 bytes"));
        }
        Ok(read > 0)
    }
}

impl Record {
    /// Nothing if the record has no such field.
    pub fn field(&self, index: usize) -> Option<&[u8]> {
        self.text.get(self.fields.get(index)?.clone())
    }

    pub fn fields(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.fields.len()).filter_map(|index| self.field(index))
    }

    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Answers whether the record ends here; if not, a quote is open and the next line belongs to it.
    fn cut(&mut self, delimiter: u8) -> Result<bool, Unreadable> {
        self.text.clear();
        self.fields.clear();
        let mut rest = self.raw.as_slice();
        loop {
            let begin = self.text.len();
            rest = match rest.strip_prefix(b"\"") {
                None => {
                    let end = rest.iter().position(|byte| *byte == delimiter).unwrap_or(rest.len());
                    let (field, rest) = rest.split_at(end);
                    self.text.extend(field);
                    rest
                }
                Some(quoted) => match unquote(quoted, &mut self.text) {
                    None => return Ok(false),
                    Some(rest) => rest,
                },
            };
            self.fields.push(begin..self.text.len());
            match rest.split_first() {
                None => return Ok(true),
                Some((byte, behind)) if *byte == delimiter => rest = behind,
                Some(_) => return Err(Unreadable::Line(self.line, "there is text behind a closing quote")),
            }
        }
    }
}

/// Moves what stands before the closing quote into `text`; answers what stands behind it, if it is there at all.
fn unquote<'r>(mut rest: &'r [u8], text: &mut Vec<u8>) -> Option<&'r [u8]> {
    loop {
        let (inside, behind) = rest.split_at(rest.iter().position(|byte| *byte == b'"')?);
        text.extend(inside);
        rest = behind.get(1..)?;
        match rest.strip_prefix(b"\"") {
            Some(more) => {
                text.push(b'"');
                rest = more;
            }
            None => return Some(rest),
        }
    }
}
