//! Headers of every response, request ids, and CORS.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::{BASE64, HEXLOWER};
use db::Entropy;
use hyper::Version;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST,
    HeaderMap, HeaderName, HeaderValue, ORIGIN, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY, VARY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::http::uri::Authority;
use ipnet::IpNet;
use platform::limits::RateLimitStatus;

use super::problem::Problem;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const CROSS_ORIGIN_OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const MAX_REQUEST_ID_LENGTH: usize = 64;

/// Creates request ids: a random number of the process, and a counter.
pub struct RequestIds {
    process: u64,
    next: AtomicU64,
}

impl Default for RequestIds {
    fn default() -> Self {
        RequestIds { process: u64::from_be_bytes(Entropy.bytes()), next: AtomicU64::new(1) }
    }
}

impl RequestIds {
    /// The caller's request id if it is valid, else a new one.
    pub fn of(&self, headers: &HeaderMap) -> String {
        let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok());
        let is_valid = |text: &&str| {
            (1..=MAX_REQUEST_ID_LENGTH).contains(&text.len())
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        match given.filter(is_valid) {
            Some(text) => text.to_owned(),
            None => {
                let count = self.next.fetch_add(1, Ordering::Relaxed);
                HEXLOWER.encode(&(u128::from(self.process) << 64 | u128::from(count)).to_be_bytes())
            }
        }
    }
}

/// The address of the caller behind this peer. `X-Forwarded-For` counts only from trusted proxies.
pub fn caller_ip(headers: &HeaderMap, peer: SocketAddr, trusted: &[IpNet]) -> IpAddr {
    let is_trusted = |ip: IpAddr| trusted.iter().any(|network| network.contains(&ip));
    let mut ip = peer.ip().to_canonical();
    let forwarded = headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
    let hops: Vec<&str> = forwarded.flat_map(|value| value.split(',')).map(str::trim).collect();
    // From the nearest hop outwards, as long as the hops are trusted.
    for hop in hops.into_iter().rev() {
        if !is_trusted(ip) {
            break;
        }
        match address_of(hop) {
            Some(next) => ip = next.to_canonical(),
            None => break,
        }
    }
    ip
}

/// An address in `X-Forwarded-For`; some proxies add the port.
fn address_of(hop: &str) -> Option<IpAddr> {
    hop.parse().ok().or_else(|| hop.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

/// A request has exactly one valid `Host`; HTTP/1.0 may have none. Otherwise a proxy and this service could disagree on
/// whom the request is for.
pub fn check_host(version: Version, headers: &HeaderMap) -> Result<(), Problem> {
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) if version < Version::HTTP_11 => Ok(()),
        (None, _) => Err(Problem::malformed("The header Host is missing.")),
        (Some(_), Some(_)) => Err(Problem::malformed("The header Host is given twice.")),
        (Some(host), None) => match Authority::try_from(host.as_bytes()) {
            Ok(host) if !host.as_str().contains('@') => Ok(()),
            _ => Err(Problem::malformed("The header Host is not a host name or address.")),
        },
    }
}

/// Sets the headers of every response. Caching and policy set by the handler stay.
pub fn finish(headers: &mut HeaderMap, request_id: &str) {
    if let Ok(value) = HeaderValue::from_str(request_id) {
        headers.insert(REQUEST_ID, value);
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers
        .entry(CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CROSS_ORIGIN_RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(CROSS_ORIGIN_OPENER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    // Browsers ignore it without TLS.
    headers.insert(STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000; includeSubDomains"));
}

/// Refuses a request that a page of another origin makes, or a program that does not say where it comes from.
pub fn check_same_origin(headers: &HeaderMap, public_url: &str) -> Result<(), Problem> {
    let is_same = match headers.get("sec-fetch-site") {
        Some(site) => site == "same-origin",
        None => headers.get(ORIGIN).is_some_and(|origin| origin.as_bytes() == public_url.as_bytes()),
    };
    if is_same { Ok(()) } else { Err(Problem::forbidden("Only pages of this service may call this.")) }
}

/// The `Allow` header of a path without CORS.
pub fn allow(methods: &str, headers: &mut HeaderMap) {
    if let Ok(value) = HeaderValue::from_str(methods) {
        headers.insert(ALLOW, value);
    }
}

/// The Content-Security-Policy source of an inline style or script: its hash.
pub fn inline_source(content: &str) -> String {
    format!("'sha256-{}'", BASE64.encode(digest(&SHA256, content.as_bytes()).as_ref()))
}

/// `RateLimit-Policy` and `RateLimit` of the IETF draft.
pub fn rate_limit(headers: &mut HeaderMap, verdict: &RateLimitStatus) {
    let name = verdict.limit.name();
    let policy = format!("\"{name}\";q={};w={}", verdict.quota.requests, verdict.quota.window.as_secs());
    let state = format!("\"{name}\";r={};t={}", verdict.remaining, verdict.reset_seconds);
    for (header, text) in [("ratelimit-policy", policy), ("ratelimit", state)] {
        if let Ok(value) = HeaderValue::from_str(&text) {
            headers.insert(header, value);
        }
    }
}

/// Cross-origin requests: only from the configured origins, none by default.
pub struct Cors(Vec<HeaderValue>);

impl Cors {
    pub fn new(origins: &[String]) -> Cors {
        Cors(origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()).collect())
    }

    pub fn answer(&self, origin: Option<&HeaderValue>, headers: &mut HeaderMap) {
        if self.0.is_empty() {
            return;
        }
        headers.append(VARY, HeaderValue::from_static("origin"));
        if let Some(origin) = origin.filter(|origin| self.0.contains(origin)) {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            let exposed =
                "x-request-id, link, etag, location, retry-after, ratelimit, ratelimit-policy, idempotent-replayed";
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(exposed));
        }
    }

    /// The response to OPTIONS: allowed methods and, for a configured origin, the CORS headers.
    pub fn preflight(&self, request: &HeaderMap, allow: &str, headers: &mut HeaderMap) {
        let Ok(allow) = HeaderValue::from_str(allow) else { return };
        headers.insert(ALLOW, allow.clone());
        if request.get(ORIGIN).is_some_and(|origin| self.0.contains(origin)) {
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, allow);
            let accepted = "authorization, content-type, idempotency-key, if-match, if-none-match, x-request-id";
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(accepted));
            headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        }
    }
}
