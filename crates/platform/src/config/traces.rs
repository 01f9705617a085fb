//! The settings of the OpenTelemetry collector.

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;

use super::{SettingsReader, is_url};
use crate::traces::TraceSettings;

const ENDPOINT: &str = "TRUNKLINE_OTLP_ENDPOINT";
const HEADERS: &str = "TRUNKLINE_OTLP_HEADERS";
const SERVICE: &str = "TRUNKLINE_OTLP_SERVICE";

impl SettingsReader {
    /// `Some` exactly when an endpoint is set.
    pub(super) fn traces(&mut self) -> Option<TraceSettings> {
        let endpoint = self.checked(ENDPOINT, "an http(s) URL", is_url);
        let headers = self.list(HEADERS, "headers such as x-api-key=…", header);
        let service = self.text(SERVICE);
        if endpoint.is_none() && (service.is_some() || !headers.is_empty()) {
            self.wrong(ENDPOINT, "given when another TRUNKLINE_OTLP_ setting is");
        }
        let (headers, service) = (HeaderMap::from_iter(headers), service.unwrap_or_else(|| "trunkline".to_owned()));
        Some(TraceSettings { endpoint: endpoint?, headers, service })
    }
}

/// `name=value` with a percent-encoded value, as in OpenTelemetry's own variables.
fn header(text: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = text.split_once('=')?;
    let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
    let mut value = HeaderValue::from_str(&value).ok()?;
    value.set_sensitive(true);
    Some((name.trim().parse().ok()?, value))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::{ConfigError, Settings};

    fn traces(names: &[(&str, &str)]) -> Result<Option<TraceSettings>, ConfigError> {
        let names = names.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Ok(Settings::from_names(names, BTreeMap::new())?.traces)
    }

    #[test]
    fn tracing_is_off_without_an_endpoint() {
        assert_eq!(traces(&[]).unwrap(), None);
        let named = traces(&[(ENDPOINT, "http://127.0.0.1:4318"), (HEADERS, "authorization=Bearer%20hunter2, b=c")]);
        let named = named.unwrap().unwrap();
        assert_eq!(
            (named.headers["authorization"].to_str().unwrap(), &*named.service),
            ("Bearer hunter2", "trunkline")
        );
        assert!(!format!("{named:?}").contains("hunter2"));
        for part in [&[(HEADERS, "a=hunter2")][..], &[(SERVICE, "x")], &[(ENDPOINT, "nowhere"), (HEADERS, "hunter2")]] {
            let error = traces(part).unwrap_err();
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }
}
