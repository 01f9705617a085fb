//! `/rates/export`: all rates as CSV, streamed.

use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream;
use hyper::header::HeaderValue;
use rating::Prefix;

use super::types::Rate;
use super::{own_pricing, prices_by};
use api::answer::{Attachment, CsvFile};
use api::context::ReadCtx;
use api::problem::Problem;
use identity::balance::CURRENCY;
use platform::outside::download::content_disposition;
use platform::routing::plans::CustomerPricing;
use platform::routing::tariff::Tariff;
use values::{Date, Time};

const HEADER: &str = "prefix,country,destination_name,rate_per_minute,currency,billing_increment_seconds,\
                      minimum_seconds,effective_at,connect_fee\n";
/// Rows in one chunk of the stream.
const BATCH: usize = 1000;

/// State of the stream.
struct Export {
    /// The tariff and the customer's pricing when the export began.
    tariff: Arc<Tariff>,
    pricing: CustomerPricing,
    now: Time,
    /// First prefix of the next chunk; none at the end.
    from: Option<Prefix>,
}

pub async fn export(ctx: ReadCtx) -> Result<CsvFile, Problem> {
    let ReadCtx { conn, request } = ctx;
    drop(conn);
    let tariff = request.app.tariff.current(&request.app.db).await?;
    let pricing = own_pricing(&request).await?;
    let export = Export { tariff, pricing, now: request.now, from: Some(Prefix::FIRST) };
    let header = stream::iter([Ok(Bytes::from_static(HEADER.as_bytes()))]);
    let rows = stream::unfold(export, async |mut export| {
        let rows = export.next_rows()?;
        Some((Ok(rows), export))
    });
    let name = format!("rates-{CURRENCY}-{}.csv", Date::from(request.now));
    Ok(CsvFile(Attachment {
        content_type: HeaderValue::from_static("text/csv; charset=utf-8; header=present"),
        disposition: HeaderValue::from_str(&content_disposition(&name)).map_err(Problem::internal)?,
        length: None,
        body: header.chain(rows).boxed(),
    }))
}

impl Export {
    fn next_rows(&mut self) -> Option<Bytes> {
        let from = self.from.take()?;
        let prices = prices_by(&self.tariff, &self.pricing);
        let sells = prices.page(from, BATCH, self.now.millis());
        let last = sells.last()?;
        self.from = last.prefix.next();
        let mut rows = Vec::with_capacity(sells.len() * 80);
        for sell in &sells {
            write_row(&mut rows, &Rate::of(sell, &self.pricing, CURRENCY));
        }
        Some(rows.into())
    }
}

fn write_row(rows: &mut Vec<u8>, rate: &Rate) {
    let money = rate.rate_per_minute.0;
    // Writing to memory cannot fail.
    let _ = write!(rows, "{},{},", rate.prefix, rate.country);
    sheet::write_cell(rows, &rate.destination_name);
    let _ = writeln!(
        rows,
        ",{},{},{},{},{},{}",
        money.amount(),
        money.currency(),
        rate.billing_increment_seconds,
        rate.minimum_seconds,
        rate.effective_at,
        rate.connect_fee.0.amount(),
    );
}
