//! `Accept-Encoding` (RFC 9110, section 12.5.3).

use hyper::header::{ACCEPT_ENCODING, HeaderMap};

/// A content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    Brotli,
    Gzip,
}

impl Coding {
    pub const fn token(self) -> &'static str {
        match self {
            Coding::Brotli => "br",
            Coding::Gzip => "gzip",
        }
    }

    fn is_named(self, name: &str) -> bool {
        name.eq_ignore_ascii_case(self.token()) || (self == Coding::Gzip && name.eq_ignore_ascii_case("x-gzip"))
    }

    /// The coding that the client likes best; of those it likes alike, the first of `ours`. `None`: as it is.
    pub fn negotiate(headers: &HeaderMap, ours: [Coding; 2]) -> Option<Coding> {
        let accepted = accepted(headers);
        let weight_of = |is_named: &dyn Fn(&str) -> bool| {
            accepted.iter().find(|(name, _)| is_named(name)).map(|(_, weight)| *weight)
        };
        let any = weight_of(&|name| name == "*");
        let as_is = weight_of(&|name| name.eq_ignore_ascii_case("identity")).unwrap_or(0);
        let mut best: Option<(Coding, u16)> = None;
        for coding in ours {
            let weight = weight_of(&|name| coding.is_named(name)).or(any).unwrap_or(0);
            if weight > best.map_or(0, |(_, weight)| weight) {
                best = Some((coding, weight));
            }
        }
        best.filter(|(_, weight)| *weight >= as_is).map(|(coding, _)| coding)
    }
}

/// The names and their weights in thousandths. An entry with a weight that is not valid counts as refused.
fn accepted(headers: &HeaderMap) -> Vec<(&str, u16)> {
    let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(entry).filter(|(name, _)| !name.is_empty()).collect()
}

fn entry(text: &str) -> (&str, u16) {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    (name, weight.map_or(1000, |weight| thousandths(weight).unwrap_or(0)))
}

/// `0`, `1`, or one of them with up to three decimals.
fn thousandths(weight: &str) -> Option<u16> {
    let (whole, decimals) = weight.split_once('.').unwrap_or((weight, ""));
    let is_valid = matches!(whole, "0" | "1") && decimals.len() <= 3 && decimals.bytes().all(|b| b.is_ascii_digit());
    let thousandths: u16 = format!("{whole}{decimals:0<3}").parse().ok().filter(|_| is_valid)?;
    (thousandths <= 1000).then_some(thousandths)
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;
    use crate::compression::{DYNAMIC, STATIC};

    fn chosen(header: &'static str, ours: [Coding; 2]) -> Option<&'static str> {
        let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(header))]);
        Coding::negotiate(&headers, ours).map(Coding::token)
    }

    #[test]
    fn the_client_decides_and_among_equals_the_service() {
        for (header, expected) in [
            ("gzip, deflate, br, zstd", Some("gzip")),
            ("gzip;q=0.5, br", Some("br")),
            ("br;q=0.5, gzip;q=0.501", Some("gzip")),
            ("GZIP", Some("gzip")),
            ("x-gzip", Some("gzip")),
            ("*", Some("gzip")),
            ("*;q=0.1, gzip;q=0", Some("br")),
            ("identity, gzip;q=0.5", None),
            ("identity;q=0.5, gzip", Some("gzip")),
            ("identity;q=0, br", Some("br")),
            ("gzip;q=0", None),
            ("gzip; q=0.000", None),
            ("gzip;q=2", None),
            ("gzip;q=abc", None),
            ("gzip;q=0.1234", None),
            ("deflate, zstd", None),
            ("identity", None),
            ("", None),
        ] {
            assert_eq!(chosen(header, DYNAMIC), expected, "{header:?}");
        }
        assert_eq!(chosen("gzip, deflate, br", STATIC), Some("br"));
        assert_eq!(Coding::negotiate(&HeaderMap::new(), DYNAMIC), None);
    }

    #[test]
    fn headers_that_are_repeated_count_together() {
        let mut headers = HeaderMap::new();
        headers.append(ACCEPT_ENCODING, HeaderValue::from_static("deflate"));
        headers.append(ACCEPT_ENCODING, HeaderValue::from_static("br"));
        assert_eq!(Coding::negotiate(&headers, DYNAMIC), Some(Coding::Brotli));
    }
}
