//! The prefixes that a cell names: one, several, or a range.

use crate::Prefix;
use crate::csv::cells;

/// Prefixes of a cell or of a range at most.
const MAX_CODES: usize = 10_000;

/// Adds the prefixes of a cell, each after the digits of `dial_code`. Without a separator the cell holds one.
pub fn read_codes(
    dial_code: &str,
    cell: &str,
    separator: Option<char>,
    codes: &mut Vec<Prefix>,
) -> Result<(), &'static str> {
    let Some(separator) = separator else { return read_code(dial_code, cell, codes) };
    // A list may be broken into lines too.
    let parts = cell.split([separator, '\n']).map(str::trim);
    for part in parts.filter(|part| !part.is_empty()) {
        read_code(dial_code, part, codes)?;
    }
    if codes.is_empty() { Err("must not be empty") } else { Ok(()) }
}

/// One prefix, or a range of prefixes of the same length such as `31201-31209`.
fn read_code(dial_code: &str, code: &str, codes: &mut Vec<Prefix>) -> Result<(), &'static str> {
    let Some((first, last)) = code.split_once('-') else {
        codes.push(cells::prefix(&joined(dial_code, code))?);
        return check_count(codes);
    };
    const NO_RANGE: &str = "must be a range such as 31201-31209, of up to 10000 prefixes";
    let (first, last) = (joined(dial_code, first.trim()), joined(dial_code, last.trim()));
    let (first, last) = (cells::prefix(&first)?.to_string(), cells::prefix(&last)?.to_string());
    let number = |digits: &str| digits.parse::<u64>().map_err(|_| NO_RANGE);
    let (begin, end) = (number(&first)?, number(&last)?);
    if first.len() != last.len() || end < begin || end - begin >= MAX_CODES as u64 {
        return Err(NO_RANGE);
    }
    for code in begin..=end {
        codes.push(code.to_string().parse().map_err(|_| NO_RANGE)?);
    }
    check_count(codes)
}

fn joined(dial_code: &str, code: &str) -> String {
    format!("{dial_code}{code}")
}

fn check_count(codes: &[Prefix]) -> Result<(), &'static str> {
    if codes.len() > MAX_CODES { Err("must name at most 10000 prefixes") } else { Ok(()) }
}
