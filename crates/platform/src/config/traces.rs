//! The settings of the OpenTelemetry collector: our own names, and those that OpenTelemetry gives them.

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;

use super::{SettingsReader, is_url};
use crate::traces::{Sampler, TraceSettings};

const ENDPOINT: &str = "TRUNKLINE_OTLP_ENDPOINT";
const HEADERS: &str = "TRUNKLINE_OTLP_HEADERS";
const SERVICE: &str = "TRUNKLINE_OTLP_SERVICE";

const OTEL_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const OTEL_TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const OTEL_HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
const OTEL_PROTOCOL: &str = "OTEL_EXPORTER_OTLP_PROTOCOL";
const OTEL_SERVICE: &str = "OTEL_SERVICE_NAME";
const OTEL_RESOURCE: &str = "OTEL_RESOURCE_ATTRIBUTES";
const OTEL_SAMPLER: &str = "OTEL_TRACES_SAMPLER";
const OTEL_SAMPLER_ARG: &str = "OTEL_TRACES_SAMPLER_ARG";
const OTEL_DISABLED: &str = "OTEL_SDK_DISABLED";

const SERVICE_NAME: &str = "service.name";
const EXPECTED_URL: &str = "an http(s) URL";
const EXPECTED_HEADERS: &str = "headers such as x-api-key=…";

impl SettingsReader {
    /// `Some` exactly when an endpoint is set and OpenTelemetry is not disabled.
    pub(super) fn traces(&mut self) -> Option<TraceSettings> {
        let own_url = self.checked(ENDPOINT, EXPECTED_URL, is_url).map(|base| traces_url(&base));
        let own_headers = self.list(HEADERS, EXPECTED_HEADERS, header);
        let own_service = self.text(SERVICE);
        let is_own = own_url.is_some();
        let otel_url = self.otel_url(!is_own);
        // They authenticate to OpenTelemetry's endpoint and are for nobody else.
        let otel_headers = self.list(OTEL_HEADERS, EXPECTED_HEADERS, header);
        let url = own_url.or(otel_url);
        if url.is_none() && (own_service.is_some() || !own_headers.is_empty()) {
            self.wrong(ENDPOINT, "given when another TRUNKLINE_OTLP_ setting is");
        }
        let headers = if is_own || !own_headers.is_empty() { own_headers } else { otel_headers };
        let mut resource = self.list(OTEL_RESOURCE, "attributes such as deployment.environment=…", attribute);
        let service = own_service.or(self.text(OTEL_SERVICE));
        if let Some(service) = service.or_else(|| named(&resource).is_none().then(|| "trunkline".to_owned())) {
            resource.retain(|(name, _)| name != SERVICE_NAME);
            resource.push((SERVICE_NAME.to_owned(), service));
        }
        let sampler = self.sampler();
        let is_disabled = self.switch(OTEL_DISABLED, false);
        let settings = TraceSettings { url: url?, headers: HeaderMap::from_iter(headers), resource, sampler };
        (!is_disabled).then_some(settings)
    }

    /// The endpoint by OpenTelemetry's names, which must not be one for gRPC if it is used.
    fn otel_url(&mut self, is_used: bool) -> Option<String> {
        let of_traces = self.checked(OTEL_TRACES_ENDPOINT, EXPECTED_URL, is_url);
        let base = self.checked(OTEL_ENDPOINT, EXPECTED_URL, is_url);
        let url = of_traces.or_else(|| base.map(|base| traces_url(&base)));
        let protocol = self.text(OTEL_PROTOCOL);
        if is_used && url.is_some() && protocol.is_some_and(|protocol| protocol == "grpc") {
            self.wrong(OTEL_PROTOCOL, "http/json or http/protobuf, for an endpoint that accepts OTLP over HTTP");
        }
        url
    }

    fn sampler(&mut self) -> Sampler {
        let name = self.text(OTEL_SAMPLER);
        let ratio = self.parsed(OTEL_SAMPLER_ARG, "a number from 0 to 1", 1.0);
        if !(0.0..=1.0).contains(&ratio) {
            self.wrong(OTEL_SAMPLER_ARG, "a number from 0 to 1");
        }
        let name = name.as_deref().unwrap_or("parentbased_always_on");
        let (follows_parent, of_roots) = match name.strip_prefix("parentbased_") {
            Some(of_roots) => (true, of_roots),
            None => (false, name),
        };
        let ratio = match of_roots {
            "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" => ratio,
            _ => {
                self.wrong(OTEL_SAMPLER, "always_on, always_off or traceidratio, or one of them after parentbased_");
                ratio
            }
        };
        Sampler::new(ratio, follows_parent)
    }
}

fn traces_url(base: &str) -> String {
    format!("{}/v1/traces", base.trim_end_matches('/'))
}

fn named(resource: &[(String, String)]) -> Option<&str> {
    resource.iter().find(|(name, _)| name == SERVICE_NAME).map(|(_, service)| service.as_str())
}

/// `name=value` with a percent-encoded value.
fn pair(text: &str) -> Option<(&str, String)> {
    let (name, value) = text.split_once('=')?;
    let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
    Some((name.trim(), value.into_owned()))
}

fn header(text: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = pair(text)?;
    let mut value = HeaderValue::from_str(&value).ok()?;
    value.set_sensitive(true);
    Some((name.parse().ok()?, value))
}

fn attribute(text: &str) -> Option<(String, String)> {
    let (name, value) = pair(text)?;
    (!name.is_empty()).then(|| (name.to_owned(), value))
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

    fn service(settings: &TraceSettings) -> &str {
        named(&settings.resource).unwrap()
    }

    #[test]
    fn tracing_is_off_without_an_endpoint() {
        assert_eq!(traces(&[]).unwrap(), None);
        let set = traces(&[(ENDPOINT, "http://127.0.0.1:4318"), (HEADERS, "authorization=Bearer%20hunter2, b=c")]);
        let set = set.unwrap().unwrap();
        assert_eq!((set.headers["authorization"].to_str().unwrap(), service(&set)), ("Bearer hunter2", "trunkline"));
        assert_eq!(set.url, "http://127.0.0.1:4318/v1/traces");
        assert!(!format!("{set:?}").contains("hunter2"));
        for part in [&[(HEADERS, "a=hunter2")][..], &[(SERVICE, "x")], &[(ENDPOINT, "nowhere"), (HEADERS, "hunter2")]] {
            let error = traces(part).unwrap_err();
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn the_names_of_opentelemetry_are_understood() {
        let set = traces(&[
            (OTEL_ENDPOINT, "http://collector:4318/"),
            (OTEL_HEADERS, "x-api-key=open%20sesame"),
            (OTEL_SERVICE, "voice"),
            (OTEL_RESOURCE, "service.name=other, deployment.environment=eu%20west"),
        ]);
        let set = set.unwrap().unwrap();
        assert_eq!((set.url.as_str(), service(&set)), ("http://collector:4318/v1/traces", "voice"));
        assert_eq!(set.headers["x-api-key"].to_str().unwrap(), "open sesame");
        assert_eq!(set.resource[0], ("deployment.environment".to_owned(), "eu west".to_owned()));

        let of_resource = traces(&[(OTEL_ENDPOINT, "http://collector:4318"), (OTEL_RESOURCE, "service.name=voice")]);
        assert_eq!(service(&of_resource.unwrap().unwrap()), "voice");
        let of_traces =
            traces(&[(OTEL_ENDPOINT, "http://collector:4318"), (OTEL_TRACES_ENDPOINT, "http://tempo/otlp")]);
        assert_eq!(of_traces.unwrap().unwrap().url, "http://tempo/otlp");
    }

    #[test]
    fn our_own_names_come_before_those_of_opentelemetry() {
        let otel = [(OTEL_ENDPOINT, "http://other:4318"), (OTEL_HEADERS, "key=hunter2"), (OTEL_SERVICE, "other")];
        let own = [(ENDPOINT, "http://own:4318"), (SERVICE, "own")];
        let set = traces(&[otel.as_slice(), &own].concat()).unwrap().unwrap();
        assert_eq!((set.url.as_str(), service(&set)), ("http://own:4318/v1/traces", "own"));
        assert!(set.headers.is_empty(), "a header for one collector goes to another");
        let set = traces(&[otel.as_slice(), &[(HEADERS, "key=own")]].concat()).unwrap().unwrap();
        assert_eq!(set.headers["key"], "own");
    }

    #[test]
    fn opentelemetry_without_an_endpoint_or_disabled_is_off() {
        for names in [
            &[(OTEL_SERVICE, "voice"), (OTEL_HEADERS, "a=b"), (OTEL_PROTOCOL, "grpc")][..],
            &[(OTEL_ENDPOINT, "http://collector:4318"), (OTEL_DISABLED, "true")],
        ] {
            assert_eq!(traces(names).unwrap(), None, "{names:?}");
        }
    }

    #[test]
    fn an_endpoint_for_grpc_is_refused() {
        let endpoint = (OTEL_ENDPOINT, "http://collector:4317");
        let error = traces(&[endpoint, (OTEL_PROTOCOL, "grpc")]).unwrap_err();
        assert!(error.0[0].starts_with("OTEL_EXPORTER_OTLP_PROTOCOL must be http/json or http/protobuf"), "{error}");
        traces(&[endpoint, (OTEL_PROTOCOL, "http/protobuf")]).unwrap();
        traces(&[endpoint, (OTEL_PROTOCOL, "grpc"), (ENDPOINT, "http://own:4318")]).unwrap();
    }

    #[test]
    fn samplers_are_named_as_in_opentelemetry() {
        let sampler = |name: &str, argument: &str| {
            let names = [(ENDPOINT, "http://own:4318"), (OTEL_SAMPLER, name), (OTEL_SAMPLER_ARG, argument)];
            traces(&names).map(|settings| settings.unwrap().sampler)
        };
        for (name, argument, ratio, follows_parent) in [
            ("", "", 1.0, true),
            ("always_on", "0.5", 1.0, false),
            ("parentbased_always_off", "", 0.0, true),
            ("traceidratio", "0.25", 0.25, false),
            ("parentbased_traceidratio", "0.25", 0.25, true),
        ] {
            assert_eq!(sampler(name, argument).unwrap(), Sampler::new(ratio, follows_parent), "{name}");
        }
        for (name, argument) in [("jaeger_remote", ""), ("traceidratio", "2"), ("traceidratio", "NaN")] {
            assert!(sampler(name, argument).is_err(), "{name} {argument}");
        }
    }
}
