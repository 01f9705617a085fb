//! Downloads and parses the reference exchange rates of the European Central Bank: an XML file with the rates of one or
//! more days.

use std::fmt;
use std::time::Duration;

use crate::http_error;
use db::assert_no_connection_held;
use values::Date;

/// The file of 90 days has about 100 KiB.
const MAX_BYTES: usize = 4 * 1024 * 1024;
const TIMEOUT: Duration = Duration::from_secs(30);

/// The source of the rates.
pub struct Feed {
    pub http: reqwest::Client,
    pub url: String,
}

/// The published rates of one day: each currency and how much of it a euro was worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sheet {
    pub date: Date,
    pub rates: Vec<(String, String)>,
}

/// Why the rates could not be downloaded or parsed.
#[derive(Debug)]
pub struct FeedError(pub String);

impl fmt::Display for FeedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FeedError {}

impl Feed {
    pub async fn fetch(&self) -> Result<Vec<Sheet>, FeedError> {
        assert_no_connection_held();
        let failed = |error: reqwest::Error| {
            let from = http_error::server("the exchange rates", &self.url);
            FeedError(format!("{from} cannot be downloaded: {}", http_error::reason(error)))
        };
        let request = self.http.get(&self.url).timeout(TIMEOUT).send();
        let mut response = request.await.and_then(reqwest::Response::error_for_status).map_err(failed)?;
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MAX_BYTES {
                return Err(FeedError("the exchange rate file is too large".into()));
            }
        }
        let text = String::from_utf8(bytes).map_err(|_| FeedError("the exchange rates are not UTF-8".into()))?;
        read(&text)
    }
}

/// Parses the file. A `Cube` element with `time` begins a day; those with `currency` and `rate` belong to it.
pub fn read(text: &str) -> Result<Vec<Sheet>, FeedError> {
    let mut sheets: Vec<Sheet> = Vec::new();
    let elements = text.split('<').skip(1).filter_map(|rest| rest.strip_prefix("Cube"));
    for element in elements {
        let inside = element.split_once('>').map_or(element, |(inside, _)| inside);
        if let Some(time) = attribute(inside, "time") {
            let date = time.parse().map_err(|_| FeedError(format!("{time} is not a date")))?;
            sheets.push(Sheet { date, rates: Vec::new() });
        } else if let (Some(currency), Some(rate)) = (attribute(inside, "currency"), attribute(inside, "rate")) {
            let Some(sheet) = sheets.last_mut() else {
                return Err(FeedError("a rate comes before the first day".into()));
            };
            sheet.rates.push((currency.to_owned(), rate.to_owned()));
        }
    }
    if sheets.iter().all(|sheet| sheet.rates.is_empty()) {
        return Err(FeedError("not a file of the European Central Bank's reference rates".into()));
    }
    Ok(sheets)
}

/// The value of an attribute, in single or double quotes.
fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    element.match_indices(name).find_map(|(at, _)| {
        let is_whole = element[..at].ends_with(char::is_whitespace);
        let value = element[at + name.len()..].trim_start().strip_prefix('=')?.trim_start();
        let quote = value.chars().next().filter(|quote| is_whole && matches!(quote, '\'' | '"'))?;
        value[1..].split_once(quote).map(|(value, _)| value)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::prelude::*;

    use super::*;

    const DAILY: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
        <gesmes:Envelope xmlns:gesmes=\"http://www.gesmes.org/xml/2002-08-01\" xmlns=\"http://www.ecb.int/vocabulary/2002-08-01/eurofxref\">
        <gesmes:subject>Reference rates</gesmes:subject>
        <gesmes:Sender><gesmes:name>European Central Bank</gesmes:name></gesmes:Sender>
        <Cube><Cube time='2026-11-13'><Cube currency='USD' rate='1.0832'/><Cube rate=\"163.5\" currency = \"JPY\"/></Cube></Cube>
        </gesmes:Envelope>";

    #[test]
    fn the_banks_file_is_parsed() {
        let rates = [("USD", "1.0832"), ("JPY", "163.5")].map(|(code, rate)| (code.to_owned(), rate.to_owned()));
        let expected = Sheet { date: "2026-11-13".parse().unwrap(), rates: rates.into() };
        assert_eq!(read(DAILY).unwrap(), [expected]);
    }

    #[test]
    fn a_file_may_have_several_days() {
        let text = "<Cube><Cube time='2026-11-13'><Cube currency='USD' rate='1'/></Cube>
                    <Cube time='2026-11-12'><Cube currency='USD' rate='2'/></Cube></Cube>";
        let dates: Vec<String> = read(text).unwrap().iter().map(|sheet| sheet.date.to_string()).collect();
        assert_eq!(dates, ["2026-11-13", "2026-11-12"]);
    }

    #[test]
    fn any_other_file_is_rejected() {
        for text in ["", "<html>", "<Cube currency='USD' rate='1'/>", "<Cube time='today'>", "<Cube time='2026-11-13'>"]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_file_panics(text in r#"(<|>|Cube|time|=|'|"|rate|currency| |\PC){0,60}"#) {
            let _ = read(&text);
        }
    }
}
