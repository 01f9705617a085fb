//! Writes a deck as a sheet that reads back as the same rows.

use std::io::{self, Write};

use jiff::Timestamp;

use ::sheet::Column as _;

use super::columns::Column;
use crate::{Moment, Offer, Prefix};

pub struct SheetWriter<W> {
    sink: W,
}

impl<W: Write> SheetWriter<W> {
    /// Writes the header.
    pub fn new(mut sink: W) -> io::Result<SheetWriter<W>> {
        let names: Vec<&str> = Column::ALL.iter().map(|column| column.name()).collect();
        writeln!(sink, "{}", names.join(","))?;
        Ok(SheetWriter { sink })
    }

    pub fn row(&mut self, prefix: Prefix, effective_at: Moment, offer: &Offer) -> io::Result<()> {
        let moment = Timestamp::from_millisecond(effective_at).map_err(io::Error::other)?;
        let (rate, destination) = (&offer.rate, &offer.destination);
        writeln!(
            self.sink,
            "{prefix},{},{},{},{},{},{},{moment}",
            quoted(&destination.name),
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

fn quoted(text: &str) -> String {
    if text.contains([',', '"', ';', '\t', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Nanos as units with as many decimals as they need.
fn units(nanos: i64) -> String {
    let decimal = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
    decimal.trim_end_matches('0').trim_end_matches('.').to_owned()
}
