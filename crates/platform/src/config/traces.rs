//! The settings of the OpenTelemetry collector: our own names, and those that OpenTelemetry gives them.

use std::collections::BTreeMap;

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
const OTEL_TRACES_HEADERS: &str = "OTEL_EXPORTER_OTLP_TRACES_HEADERS";
const OTEL_PROTOCOL: &str = "OTEL_EXPORTER_OTLP_PROTOCOL";
const OTEL_TRACES_PROTOCOL: &str = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL";
const OTEL_EXPORTER: &str = "OTEL_TRACES_EXPORTER";
const OTEL_SERVICE: &str = "OTEL_SERVICE_NAME";
const OTEL_RESOURCE: &str = "OTEL_RESOURCE_ATTRIBUTES";
const OTEL_SAMPLER: &str = "OTEL_TRACES_SAMPLER";
const OTEL_SAMPLER_ARG: &str = "OTEL_TRACES_SAMPLER_ARG";
const OTEL_DISABLED: &str = "OTEL_SDK_DISABLED";

const SERVICE_NAME: &str = "service.name";
const EXPECTED_URL: &str = "an http(s) URL";
const EXPECTED_HEADERS: &str = "headers such as x-api-key=…";

impl SettingsReader {
    /// `Some` exactly when there is an endpoint. A wrong value of our own names is an error, one of OpenTelemetry's is
    /// ignored with a warning, as its specification demands: such variables are often set for all programs.
    pub(super) fn traces(&mut self) -> Option<TraceSettings> {
        let own_url = self.checked(ENDPOINT, EXPECTED_URL, is_url).map(|base| traces_url(&base));
        let own_headers = self.list(HEADERS, EXPECTED_HEADERS, header);
        let own_service = self.text(SERVICE);
        let (otel_url, otel_headers) = self.otel_endpoint();
        if own_url.is_none() && otel_url.is_none() && (own_service.is_some() || !own_headers.is_empty()) {
            self.wrong(ENDPOINT, "given when another TRUNKLINE_OTLP_ setting is");
        }
        // OpenTelemetry's headers authenticate to its endpoint and are for nobody else.
        let headers = if own_url.is_some() || !own_headers.is_empty() { own_headers } else { otel_headers };
        let resource = self.otel_pairs(OTEL_RESOURCE, attribute);
        let mut resource: BTreeMap<String, String> = resource.into_iter().collect();
        match own_service.or(self.text(OTEL_SERVICE)) {
            Some(service) => drop(resource.insert(SERVICE_NAME.to_owned(), service)),
            None => drop(resource.entry(SERVICE_NAME.to_owned()).or_insert_with(|| "trunkline".to_owned())),
        }
        let (url, sampler) = (own_url.or(otel_url), self.sampler());
        Some(TraceSettings { url: url?, headers: HeaderMap::from_iter(headers), resource, sampler })
    }

    /// The endpoint by OpenTelemetry's names and the headers for it, unless they say that nothing is sent.
    fn otel_endpoint(&mut self) -> (Option<String>, Vec<(HeaderName, HeaderValue)>) {
        let is_disabled = self.text(OTEL_DISABLED).is_some_and(|text| text.eq_ignore_ascii_case("true"));
        let is_off = is_disabled | self.text(OTEL_EXPORTER).is_some_and(|exporter| exporter == "none");
        let of_all = self.text(OTEL_ENDPOINT).map(|url| (OTEL_ENDPOINT, traces_url(&url)));
        let endpoint = self.text(OTEL_TRACES_ENDPOINT).map(|url| (OTEL_TRACES_ENDPOINT, url)).or(of_all);
        let of_all = self.otel_pairs(OTEL_HEADERS, header);
        let of_traces = self.otel_pairs(OTEL_TRACES_HEADERS, header);
        let headers = if of_traces.is_empty() { of_all } else { of_traces };
        let of_all = self.text(OTEL_PROTOCOL);
        let protocol = self.text(OTEL_TRACES_PROTOCOL).or(of_all);
        let Some((name, url)) = endpoint.filter(|_| !is_off) else { return (None, headers) };
        if protocol.is_some_and(|protocol| protocol == "grpc") {
            self.ignore(name, "it is for gRPC, and spans are sent over HTTP");
            return (None, headers);
        }
        if !is_url(&url) {
            self.ignore(name, "it must be an http(s) URL");
            return (None, headers);
        }
        (Some(url), headers)
    }

    /// A list of OpenTelemetry's `name=value`. A name that is repeated has its last value.
    fn otel_pairs<T>(&mut self, name: &str, parse: impl Fn(&str) -> Option<T>) -> Vec<T> {
        let text = self.text(name).unwrap_or_default();
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        items.map(parse).collect::<Option<_>>().unwrap_or_else(|| {
            self.ignore(name, "it must be name=value, separated by commas");
            Vec::new()
        })
    }

    fn sampler(&mut self) -> Sampler {
        let (name, argument) = (self.text(OTEL_SAMPLER), self.text(OTEL_SAMPLER_ARG));
        let name = name.as_deref().unwrap_or("parentbased_always_on");
        let (follows_parent, of_roots) = match name.strip_prefix("parentbased_") {
            Some(of_roots) => (true, of_roots),
            None => (false, name),
        };
        match of_roots {
            "always_on" => Sampler::new(1.0, follows_parent),
            "always_off" => Sampler::new(0.0, follows_parent),
            "traceidratio" => {
                let ratio = argument.as_deref().unwrap_or("1").parse().ok();
                let ratio = ratio.filter(|ratio| (0.0..=1.0).contains(ratio)).unwrap_or_else(|| {
                    self.ignore(OTEL_SAMPLER_ARG, "it must be a number from 0 to 1");
                    1.0
                });
                Sampler::new(ratio, follows_parent)
            }
            _ => {
                let names = "it must be always_on, always_off or traceidratio, or one of them after parentbased_";
                self.ignore(OTEL_SAMPLER, names);
                Sampler::new(1.0, true)
            }
        }
    }
}

fn traces_url(base: &str) -> String {
    format!("{}/v1/traces", base.trim_end_matches('/'))
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
    use super::*;
    use crate::config::{ConfigError, Settings};

    fn settings(names: &[(&str, &str)]) -> Result<Settings, ConfigError> {
        let names = names.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Settings::from_names(names, BTreeMap::new())
    }

    fn traces(names: &[(&str, &str)]) -> Option<TraceSettings> {
        settings(names).unwrap().traces
    }

    #[test]
    fn tracing_is_off_without_an_endpoint() {
        assert_eq!(traces(&[]), None);
        let set = traces(&[(ENDPOINT, "http://127.0.0.1:4318"), (HEADERS, "authorization=Bearer%20hunter2, b=c")]);
        let set = set.unwrap();
        assert_eq!(set.headers["authorization"].to_str().unwrap(), "Bearer hunter2");
        assert_eq!((set.url.as_str(), &*set.resource[SERVICE_NAME]), ("http://127.0.0.1:4318/v1/traces", "trunkline"));
        assert!(!format!("{set:?}").contains("hunter2"));
        for part in [&[(HEADERS, "a=hunter2")][..], &[(SERVICE, "x")], &[(ENDPOINT, "nowhere"), (HEADERS, "hunter2")]] {
            let error = settings(part).unwrap_err();
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn the_names_of_opentelemetry_are_understood() {
        let endpoint = (OTEL_ENDPOINT, "http://collector:4318/");
        let set = traces(&[
            endpoint,
            (OTEL_HEADERS, "x-api-key=open%20sesame"),
            (OTEL_SERVICE, "voice"),
            (OTEL_RESOURCE, "service.name=other, deployment.environment=eu%20west,"),
            (OTEL_PROTOCOL, "http/protobuf"),
        ]);
        let set = set.unwrap();
        assert_eq!((set.url.as_str(), &*set.resource[SERVICE_NAME]), ("http://collector:4318/v1/traces", "voice"));
        assert_eq!(set.headers["x-api-key"].to_str().unwrap(), "open sesame");
        assert_eq!(set.resource["deployment.environment"], "eu west");
        assert_eq!(traces(&[endpoint, (OTEL_RESOURCE, "service.name=voice")]).unwrap().resource[SERVICE_NAME], "voice");
    }

    #[test]
    fn variables_of_traces_take_precedence_over_those_of_all_signals() {
        let of_all = [(OTEL_ENDPOINT, "http://all:4317"), (OTEL_HEADERS, "key=all"), (OTEL_PROTOCOL, "grpc")];
        let of_traces = [
            (OTEL_TRACES_ENDPOINT, "http://tempo/otlp"),
            (OTEL_TRACES_HEADERS, "key=tempo"),
            (OTEL_TRACES_PROTOCOL, "http/json"),
        ];
        let set = traces(&[of_all, of_traces].concat()).unwrap();
        assert_eq!((set.url.as_str(), set.headers["key"].to_str().unwrap()), ("http://tempo/otlp", "tempo"));
    }

    #[test]
    fn our_own_names_take_precedence_over_those_of_opentelemetry() {
        let otel = [(OTEL_ENDPOINT, "http://other:4318"), (OTEL_HEADERS, "key=hunter2"), (OTEL_SERVICE, "other")];
        let own = [(ENDPOINT, "http://own:4318"), (SERVICE, "own"), (OTEL_DISABLED, "true")];
        let set = traces(&[otel, own].concat()).unwrap();
        assert_eq!((set.url.as_str(), &*set.resource[SERVICE_NAME]), ("http://own:4318/v1/traces", "own"));
        assert!(set.headers.is_empty(), "a header for one collector goes to another");
        let set = traces(&[otel.as_slice(), &[(HEADERS, "key=own")]].concat()).unwrap();
        assert_eq!(set.headers["key"], "own");
    }

    #[test]
    fn opentelemetry_can_be_turned_off() {
        let endpoint = (OTEL_ENDPOINT, "http://collector:4318");
        for off in [(OTEL_DISABLED, "True"), (OTEL_EXPORTER, "none")] {
            assert_eq!(traces(&[endpoint, off]), None, "{off:?}");
        }
        assert_eq!(traces(&[(OTEL_SERVICE, "voice"), (OTEL_HEADERS, "a=b")]), None);
        for on in [(OTEL_DISABLED, "1"), (OTEL_EXPORTER, "otlp")] {
            assert!(traces(&[endpoint, on]).is_some(), "{on:?}");
        }
    }

    #[test]
    fn wrong_values_of_opentelemetry_are_ignored_with_a_warning() {
        let endpoint = (OTEL_ENDPOINT, "http://collector:4318");
        for (name, value, is_sent) in [
            (OTEL_ENDPOINT, "collector:4317", false),
            (OTEL_PROTOCOL, "grpc", false),
            (OTEL_HEADERS, "hunter2", true),
            (OTEL_RESOURCE, "hunter2", true),
            (OTEL_SAMPLER, "jaeger_remote", true),
        ] {
            let names = [endpoint, (name, value)].into_iter().collect::<BTreeMap<_, _>>();
            let set = settings(&names.into_iter().collect::<Vec<_>>()).unwrap();
            assert_eq!(set.warnings.len(), 1, "{name}: {:?}", set.warnings);
            let warning = &set.warnings[0];
            assert!(warning.contains(" is ignored: it ") && !warning.contains("hunter2"), "{warning}");
            assert_eq!(set.traces.is_some(), is_sent, "{name}");
        }
    }

    #[test]
    fn samplers_are_named_as_in_opentelemetry() {
        let sampler = |name: &str, argument: &str| {
            let names = [(ENDPOINT, "http://own:4318"), (OTEL_SAMPLER, name), (OTEL_SAMPLER_ARG, argument)];
            let set = settings(&names).unwrap();
            (set.traces.unwrap().sampler, set.warnings.len())
        };
        for (name, argument, ratio, follows_parent, warnings) in [
            ("", "", 1.0, true, 0),
            ("always_on", "nonsense", 1.0, false, 0),
            ("parentbased_always_off", "", 0.0, true, 0),
            ("traceidratio", "0.25", 0.25, false, 0),
            ("parentbased_traceidratio", "0.25", 0.25, true, 0),
            ("jaeger_remote", "", 1.0, true, 1),
            ("traceidratio", "2", 1.0, false, 1),
            ("traceidratio", "NaN", 1.0, false, 1),
        ] {
            assert_eq!(sampler(name, argument), (Sampler::new(ratio, follows_parent), warnings), "{name} {argument}");
        }
    }
}
