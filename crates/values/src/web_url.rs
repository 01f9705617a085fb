//! HTTP and HTTPS URLs.

use std::fmt;
use std::str::FromStr;

use url::Url;

use super::Invalid;
use super::text_form::{TextForm, impl_serde_as_text, impl_stored_as_text};

const MAX_BYTES: usize = 2000;

/// An http or https URL with a host and without credentials.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WebUrl(Url);

impl WebUrl {
    pub fn url(&self) -> &Url {
        &self.0
    }

    pub fn is_encrypted(&self) -> bool {
        self.0.scheme() == "https"
    }
}

impl TextForm for WebUrl {
    const DESCRIPTION: &'static str = "URL with http or https, without credentials.";
    const FORMAT: &'static str = "uri";
    const REASON: &'static str =
        "must be an http or https URL such as https://carrier.example/rates.csv, without credentials";
    const PATTERN: &'static str = r"^[Hh][Tt][Tt][Pp][Ss]?://\S{1,1990}$";
    const EXAMPLE: &'static str = "https://carrier.example/rates.csv";
}

impl FromStr for WebUrl {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let is_plain = text.len() <= MAX_BYTES && !text.contains(|c: char| c.is_control() || c.is_whitespace());
        let url = Url::parse(text).ok().filter(|_| is_plain).ok_or_else(Self::invalid)?;
        let is_open = url.username().is_empty() && url.password().is_none();
        let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
        (is_open && is_web).then_some(WebUrl(url)).ok_or_else(Self::invalid)
    }
}

impl fmt::Display for WebUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

impl_serde_as_text!(WebUrl);
impl_stored_as_text!(WebUrl);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_http_urls_without_credentials_are_accepted() {
        let url: WebUrl = "https://Carrier.example/rates.csv?key=1".parse().unwrap();
        assert_eq!(url.to_string(), "https://carrier.example/rates.csv?key=1");
        for text in [
            "",
            "rates.csv",
            "ftp://a/b",
            "file:///etc/passwd",
            "https://",
            "https://a:b@c/",
            "https://a@c/",
            "http://a b/",
        ] {
            assert!(text.parse::<WebUrl>().is_err(), "{text}");
        }
    }
}
