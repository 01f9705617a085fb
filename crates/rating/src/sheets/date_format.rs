//! Dates as carriers write them, by a pattern of `YYYY`, `MM`, `DD`, `HH`, `mm` and `ss`.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;

use crate::UnixMillis;

/// A valid pattern, such as `DD/MM/YYYY`. Times are UTC.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DateFormat {
    text: String,
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Piece {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Literal(char),
}

const MAX_CHARS: usize = 40;
const WORDS: [(&str, Piece); 6] = [
    ("YYYY", Piece::Year),
    ("MM", Piece::Month),
    ("DD", Piece::Day),
    ("HH", Piece::Hour),
    ("mm", Piece::Minute),
    ("ss", Piece::Second),
];

/// The pattern is not one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DateFormatError;

impl fmt::Display for DateFormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must have YYYY, MM and DD once, and may have HH, mm and ss, such as DD/MM/YYYY")
    }
}

impl FromStr for DateFormat {
    type Err = DateFormatError;

    fn from_str(text: &str) -> Result<DateFormat, DateFormatError> {
        if text.chars().count() > MAX_CHARS {
            return Err(DateFormatError);
        }
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some(letter) = rest.chars().next() {
            let word = WORDS.iter().find(|(word, _)| rest.starts_with(word));
            let (piece, length) =
                word.map_or((Piece::Literal(letter), letter.len_utf8()), |(word, it)| (*it, word.len()));
            pieces.push(piece);
            rest = rest.get(length..).unwrap_or_default();
        }
        let count = |piece: Piece| pieces.iter().filter(|it| **it == piece).count();
        let is_date = [Piece::Year, Piece::Month, Piece::Day].into_iter().all(|piece| count(piece) == 1);
        let (hours, minutes, seconds) = (count(Piece::Hour), count(Piece::Minute), count(Piece::Second));
        let has_order = hours <= 1 && minutes <= hours && seconds <= minutes;
        // Letters and digits that are not part of a word are mistakes, such as `dd/mm/yy`. A T is between date and time.
        let is_clean = pieces.iter().all(|piece| match piece {
            Piece::Literal(letter) => *letter == 'T' || !letter.is_alphanumeric(),
            _ => true,
        });
        (is_date && has_order && is_clean).then(|| DateFormat { text: text.to_owned(), pieces }).ok_or(DateFormatError)
    }
}

impl fmt::Display for DateFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl DateFormat {
    /// Whether it says the time of the day, not only the date.
    pub fn has_time(&self) -> bool {
        self.pieces.contains(&Piece::Minute)
    }

    /// The time that a text means, if it follows the pattern. Days and months may have one digit before a separator.
    pub fn parse(&self, text: &str) -> Option<UnixMillis> {
        let (mut rest, mut values) = (text, [0i16; 6]);
        for (index, piece) in self.pieces.iter().enumerate() {
            if let Piece::Literal(letter) = piece {
                rest = rest.strip_prefix(*letter)?;
                continue;
            }
            let width = if *piece == Piece::Year { 4 } else { 2 };
            let digits = rest.bytes().take(width).take_while(u8::is_ascii_digit).count();
            let is_separated = matches!(self.pieces.get(index + 1), None | Some(Piece::Literal(_)));
            if digits < width && (digits == 0 || width == 4 || !is_separated) {
                return None;
            }
            let (value, after) = rest.split_at_checked(digits)?;
            *values.get_mut(piece.index()?)? = value.parse().ok()?;
            rest = after;
        }
        let [year, month, day, hour, minute, second] = values;
        let small = |value: i16| i8::try_from(value).ok();
        let date = Date::new(year, small(month)?, small(day)?).ok().filter(|_| rest.is_empty())?;
        let time = Time::new(small(hour)?, small(minute)?, small(second)?, 0).ok()?;
        Some(date.to_datetime(time).to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond())
    }
}

impl Piece {
    fn index(self) -> Option<usize> {
        WORDS.iter().position(|(_, piece)| *piece == self)
    }
}
