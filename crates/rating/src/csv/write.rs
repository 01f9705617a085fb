//! Writes a deck as CSV that [`DeckCsv::read`](super::DeckCsv::read) reads back as the same rows.

use std::io::{self, Write};

use jiff::Timestamp;

use sheet::Column as _;

use super::columns::Column;
use crate::{Offer, Prefix, UnixMillis};

pub struct DeckCsvWriter<W> {
    sink: W,
}

impl<W: Write> DeckCsvWriter<W> {
    /// Writes the header.
    pub fn new(mut sink: W) -> io::Result<DeckCsvWriter<W>> {
        let names: Vec<&str> = Column::ALL.iter().map(|column| column.name()).collect();
        writeln!(sink, "{}", names.join(","))?;
        Ok(DeckCsvWriter { sink })
    }

    pub fn row(&mut self, prefix: Prefix, effective_at: UnixMillis, offer: &Offer) -> io::Result<()> {
        let timestamp = Timestamp::from_millisecond(effective_at).map_err(io::Error::other)?;
        let (rate, destination) = (&offer.rate, &offer.destination);
        writeln!(
            self.sink,
            "{prefix},{},{},{},{},{},{},{timestamp}",
            quote(&destination.name),
            destination.country.as_str(),
            units(rate.nanos_per_minute()),
            units(rate.connect_fee_nanos()),
            rate.increment_seconds(),
            rate.minimum_seconds(),
        )
    }

    pub fn finish(self) -> W {
        self.sink
    }
}

fn quote(text: &str) -> String {
    if text.contains([',', '"', ';', '\t', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Formats nanos as currency units, without trailing zeros.
fn units(nanos: i64) -> String {
    let decimal = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
    decimal.trim_end_matches('0').trim_end_matches('.').to_owned()
}
