//! Operations that are announced to end: the headers `Deprecation` (RFC 9745) and `Sunset` (RFC 8594), and what the
//! reference says. The policy is in docs/versioning.md.

use hyper::header::{HeaderMap, HeaderName, HeaderValue, LINK};

use values::{Date, Time};

const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
const SUNSET: HeaderName = HeaderName::from_static("sunset");
const POLICY_LINK: &str = "</docs#deprecation>; rel=\"deprecation\"; type=\"text/html\"";

/// The announced end of an operation. Dates are `YYYY-MM-DD`; each means midnight UTC at the start of its day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deprecation {
    pub since: &'static str,
    /// From this day on the operation may be gone.
    pub sunset: &'static str,
    /// What to call instead, such as `GET /trunks/{id}`.
    pub instead: &'static str,
}

impl Deprecation {
    /// Both days, unless one of them is not a date.
    pub fn days(&self) -> Option<(Date, Date)> {
        Some((self.since.parse().ok()?, self.sunset.parse().ok()?))
    }

    /// What the reference says.
    pub fn notice(&self) -> String {
        let Deprecation { since, sunset, instead } = self;
        format!("Deprecated since {since}, ends on {sunset}. Use `{instead}` instead.")
    }

    /// Announces the end in a response.
    pub fn announce(&self, headers: &mut HeaderMap) {
        let Some((since, sunset)) = self.days() else { return };
        let values = [(DEPRECATION, format!("@{}", since.start().seconds())), (SUNSET, http_date(sunset.start()))];
        for (name, text) in values {
            if let Ok(value) = HeaderValue::from_str(&text) {
                headers.insert(name, value);
            }
        }
        headers.append(LINK, HeaderValue::from_static(POLICY_LINK));
    }
}

/// `Mon, 01 Mar 2027 00:00:00 GMT`.
fn http_date(midnight: Time) -> String {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    // 1 January 1970 was a Thursday.
    const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    let day = Date::from(midnight).civil();
    let weekday = midnight.seconds().div_euclid(86_400).rem_euclid(7);
    let weekday = usize::try_from(weekday).ok().and_then(|index| WEEKDAYS.get(index)).unwrap_or(&WEEKDAYS[0]);
    let month = usize::try_from(day.month() - 1).ok().and_then(|index| MONTHS.get(index)).unwrap_or(&MONTHS[0]);
    format!("{weekday}, {:02} {month} {:04} 00:00:00 GMT", day.day(), day.year())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_written_as_http_writes_dates() {
        for (day, text) in [
            ("1970-01-01", "Thu, 01 Jan 1970 00:00:00 GMT"),
            ("1994-11-06", "Sun, 06 Nov 1994 00:00:00 GMT"),
            ("2027-03-01", "Mon, 01 Mar 2027 00:00:00 GMT"),
            ("2028-02-29", "Tue, 29 Feb 2028 00:00:00 GMT"),
        ] {
            let day: Option<Date> = day.parse().ok();
            assert_eq!(day.map(|day| http_date(day.start())).as_deref(), Some(text));
        }
    }

    #[test]
    fn the_end_is_announced_in_three_headers() {
        let mut headers = HeaderMap::new();
        headers.insert(LINK, HeaderValue::from_static("</v1/trunks?cursor=x>; rel=\"next\""));
        let deprecation = Deprecation { since: "2026-09-01", sunset: "2027-03-01", instead: "GET /trunks" };
        deprecation.announce(&mut headers);
        assert_eq!(headers["deprecation"], "@1788220800");
        assert_eq!(headers["sunset"], "Mon, 01 Mar 2027 00:00:00 GMT");
        assert_eq!(headers.get_all(LINK).iter().count(), 2, "the next page is still linked");
        assert_eq!(deprecation.notice(), "Deprecated since 2026-09-01, ends on 2027-03-01. Use `GET /trunks` instead.");
    }
}
