//! Splits CSV text into records, strictly: a quote that is never closed, or text after a closing quote, is an error and
//! does not swallow the rows that follow.
//!
//! Lines end with LF or CRLF. A field that begins with a quote ends with one, may span lines, and escapes a quote by
//! doubling it. A quote inside an unquoted field is an ordinary character.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

use super::record::{MAX_RECORD_BYTES, Record};

/// Maximum number of lines of a quoted field.
const MAX_QUOTED_LINES: u64 = 64;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

pub struct Records<R> {
    source: R,
    /// Lines read so far.
    lines: u64,
    record: Record,
}

/// A record could not be read.
#[derive(Debug)]
pub enum ReadError {
    Io(io::Error),
    /// Line and reason. Reading can continue with the next line.
    Line(u64, &'static str),
    /// Line and reason. Reading cannot continue: it is unknown where the next record begins.
    Rest(u64, Cow<'static, str>),
}

/// Rows of a file, one after the other.
pub trait ReadRecords {
    /// The next record that is not blank.
    fn next_record(&mut self) -> Result<Option<&Record>, ReadError>;

    /// The line of the last record.
    fn last_line(&self) -> u64;
}

/// CSV with a known delimiter.
pub struct Delimited<R> {
    pub records: Records<R>,
    pub delimiter: u8,
}

impl<R: BufRead> ReadRecords for Delimited<R> {
    fn next_record(&mut self) -> Result<Option<&Record>, ReadError> {
        self.records.next(self.delimiter)
    }

    fn last_line(&self) -> u64 {
        self.records.lines
    }
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
                return Err(ReadError::Rest(
                    self.record.line,
                    "a quote is opened and not closed within 64 lines".into(),
                ));
            }
        }
        Ok(Some(&self.record))
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
            return Err(ReadError::Rest(self.lines, "the row is longer than 65536 bytes".into()));
        }
        Ok(read > 0)
    }
}

impl Record {
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
