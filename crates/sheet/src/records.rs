//! Splits CSV text into records, strictly: a quote that is never closed, or text after a closing quote, is an error and
//! does not swallow the rows that follow.
//!
//! Lines end with LF or CRLF. A field that begins with a quote ends with one, may span lines, and escapes a quote by
//! doubling it. A quote inside an unquoted field is an ordinary character.

use std::io::{self, BufRead, Read};
use std::ops::Range;

/// Maximum size of a record, over all its lines.
const MAX_RECORD_BYTES: usize = 64 * 1024;
/// Maximum number of lines of a quoted field.
const MAX_QUOTED_LINES: u64 = 64;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

pub struct Records<R> {
    source: R,
    /// Lines read so far.
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

/// A record could not be read.
#[derive(Debug)]
pub enum ReadError {
    Io(io::Error),
    /// Line and reason. Reading can continue with the next line.
    Line(u64, &'static str),
    /// Line and reason. Reading cannot continue: it is unknown where the next record begins.
    Rest(u64, &'static str),
}

impl<R: BufRead> Records<R> {
    pub fn new(source: R) -> Records<R> {
        Records { source, lines: 0, record: Record::default() }
    }

    /// Reads the next record that is not blank and splits it at the delimiter.
    pub fn next(&mut self, delimiter: u8) -> Result<Option<&Record>, ReadError> {
        loop {
            self.record.raw.clear();
            if !self.read_line()? {
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
        while !self.record.split(delimiter)? {
            self.record.raw.push(b'\n');
            if self.lines - self.record.line >= MAX_QUOTED_LINES || !self.read_line()? {
                return Err(ReadError::Rest(self.record.line, "a quote is opened and not closed within 64 lines"));
            }
        }
        Ok(Some(&self.record))
    }

    /// Lines read so far.
    pub fn line_count(&self) -> u64 {
        self.lines
    }

    /// Splits the same record at another delimiter.
    pub fn split_again(&mut self, delimiter: u8) -> Result<&Record, ReadError> {
        self.record.split(delimiter)?;
        Ok(&self.record)
    }

    /// Appends the next line without its line end to the record. Returns false at the end of the file.
    fn read_line(&mut self) -> Result<bool, ReadError> {
        let raw = &mut self.record.raw;
        let before = raw.len();
        let limit = (MAX_RECORD_BYTES + 2).saturating_sub(before) as u64;
        let read = self.source.by_ref().take(limit).read_until(b'\n', raw).map_err(ReadError::Io)?;
        self.lines += u64::from(read > 0);
        let ended = raw.pop_if(|byte| *byte == b'\n').is_some();
        if raw.len() > before {
            raw.pop_if(|byte| ended && *byte == b'\r');
        }
        if raw.len() > MAX_RECORD_BYTES {
            return Err(ReadError::Rest(self.lines, "the row is longer than 65536 bytes"));
        }
        Ok(read > 0)
    }
}

impl Record {
    /// `None` if the record has fewer fields.
    pub fn field(&self, index: usize) -> Option<&[u8]> {
        self.text.get(self.fields.get(index)?.clone())
    }

    pub fn fields(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.fields.len()).filter_map(|index| self.field(index))
    }

    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Splits the raw text into fields. Returns false if a quote is open, so that the record needs another line.
    fn split(&mut self, delimiter: u8) -> Result<bool, ReadError> {
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
                Some((byte, after)) if *byte == delimiter => rest = after,
                Some(_) => return Err(ReadError::Line(self.line, "there is text after a closing quote")),
            }
        }
    }
}

/// Appends the text up to the closing quote to `text`. Returns what follows the quote, or `None` if there is no quote.
fn unquote<'r>(mut rest: &'r [u8], text: &mut Vec<u8>) -> Option<&'r [u8]> {
    loop {
        let (inside, after) = rest.split_at(rest.iter().position(|byte| *byte == b'"')?);
        text.extend(inside);
        rest = after.get(1..)?;
        match rest.strip_prefix(b"\"") {
            Some(more) => {
                text.push(b'"');
                rest = more;
            }
            None => return Some(rest),
        }
    }
}
