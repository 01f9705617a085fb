//! Downloads files from URLs that users enter, such as rate decks, and sends webhooks to them.
//!
//! Such a URL must not reach the operator's own network (SSRF). So only https is allowed, a host name is resolved once,
//! all of its addresses must be public, the connection goes to a checked address, redirects are not followed, and size
//! and time are limited. Lab mode allows any address.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt};
use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};

use crate::http_error;
use db::assert_no_connection_held;
use values::{WebUrl, is_public_ip};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const READ_TIMEOUT: Duration = Duration::from_secs(30);
const TOTAL_TIMEOUT: Duration = Duration::from_secs(600);
const MAX_ETAG_BYTES: usize = 200;
const NOT_ENCRYPTED: &str = "the URL must begin with https://";
const NOT_PUBLIC: &str = "the URL does not point to the public internet";
const MAX_ADDRESSES: usize = 16;
/// How much of the answer to a webhook is kept, and how long it may take to arrive.
const MAX_EXCERPT_BYTES: usize = 500;
const EXCERPT_TIMEOUT: Duration = Duration::from_secs(1);

/// Resolves a host name to its addresses.
pub type Resolver = Arc<dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

/// The system's resolver.
pub fn system_resolver() -> Resolver {
    Arc::new(|name, port| {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), port)).await?;
            Ok(found.map(|address| address.ip()).take(MAX_ADDRESSES).collect())
        })
    })
}

#[derive(Clone)]
pub struct Fetcher {
    pub resolver: Resolver,
    /// Trusted root certificates.
    pub roots: Vec<reqwest::Certificate>,
    pub is_lab: bool,
}

/// The result of a download.
pub enum Fetched {
    /// The file still has the known ETag.
    Unchanged,
    File {
        etag: Option<String>,
        body: BoxStream<'static, Result<Bytes, FetchError>>,
    },
}

/// Why a download failed, in words for the user who entered the URL.
#[derive(Debug, PartialEq, Eq)]
pub struct FetchError(pub String);

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FetchError {}

impl From<reqwest::Error> for FetchError {
    fn from(error: reqwest::Error) -> Self {
        let what = if error.is_timeout() { "did not respond in time" } else { "cannot be reached" };
        FetchError(format!("the server {what}: {}", http_error::reason(error)))
    }
}

impl Fetcher {
    /// Downloads a file, unless it still has the known ETag.
    pub async fn fetch(&self, from: &WebUrl, known: Option<&str>) -> Result<Fetched, FetchError> {
        assert_no_connection_held();
        let client = self.client(from).await?;
        let mut request = client.get(from.url().clone());
        if let Some(etag) = known {
            request = request.header(IF_NONE_MATCH, etag);
        }
        let mut response = request.send().await?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::NOT_MODIFIED if known.is_some() => return Ok(Fetched::Unchanged),
            status if status.is_redirection() => {
                return Err(FetchError(format!(
                    "the server responded {}, and redirects are not followed",
                    status.as_u16()
                )));
            }
            status => return Err(FetchError(format!("the server responded {}", status.as_u16()))),
        }
        let etag = response.headers_mut().remove(ETAG).and_then(|tag| tag.to_str().ok().map(str::to_owned));
        let body = stream::try_unfold(response, async |mut response| {
            Ok::<_, FetchError>(response.chunk().await?.map(|piece| (piece, response)))
        });
        Ok(Fetched::File { etag: etag.filter(|tag| tag.len() <= MAX_ETAG_BYTES), body: body.boxed() })
    }

    /// A URL to send to, with the addresses that its host has now.
    pub async fn target(&self, to: &WebUrl) -> Result<Target, FetchError> {
        assert_no_connection_held();
        Ok(Target { client: self.client(to).await?, url: to.url().clone() })
    }

    /// A client that connects only to the addresses that were checked.
    async fn client(&self, from: &WebUrl) -> Result<reqwest::Client, FetchError> {
        if !from.is_encrypted() && !self.is_lab {
            return Err(FetchError(NOT_ENCRYPTED.into()));
        }
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .tls_certs_only(self.roots.clone())
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            .timeout(TOTAL_TIMEOUT);
        let client = match from.url().host_str().map(|host| (host, literal(host))) {
            None => return Err(FetchError("the URL has no host".into())),
            Some((_, Some(address))) => {
                self.check(address)?;
                client
            }
            Some((name, None)) => client.resolve_to_addrs(name, &self.addresses(name, from).await?),
        };
        Ok(client.build()?)
    }

    async fn addresses(&self, name: &str, from: &WebUrl) -> Result<Vec<SocketAddr>, FetchError> {
        let port = from.url().port_or_known_default().unwrap_or(443);
        let found = (self.resolver)(name.to_owned(), port);
        let timed_out = |_| FetchError(format!("{name} was not resolved in time"));
        let found = tokio::time::timeout(CONNECT_TIMEOUT, found).await.map_err(timed_out)?;
        let found = found.map_err(|error| FetchError(format!("{name} cannot be resolved: {error}")))?;
        if found.is_empty() {
            return Err(FetchError(format!("{name} has no address")));
        }
        found.iter().try_for_each(|address| self.check(*address))?;
        Ok(found.into_iter().map(|address| SocketAddr::new(address, port)).collect())
    }

    fn check(&self, address: IpAddr) -> Result<(), FetchError> {
        if self.is_lab || is_public_ip(address) {
            return Ok(());
        }
        Err(FetchError(NOT_PUBLIC.into()))
    }
}

/// Refuses what can be refused without a name server: plain HTTP, and an address that is not public.
pub fn check_url(url: &WebUrl, is_lab: bool) -> Result<(), FetchError> {
    if !url.is_encrypted() && !is_lab {
        return Err(FetchError(NOT_ENCRYPTED.into()));
    }
    let address = url.url().host_str().and_then(literal);
    if is_lab || address.is_none_or(is_public_ip) { Ok(()) } else { Err(FetchError(NOT_PUBLIC.into())) }
}

/// Where webhooks are sent.
#[derive(Clone)]
pub struct Target {
    client: reqwest::Client,
    url: reqwest::Url,
}

/// The answer to a webhook.
pub struct Posted {
    pub status: StatusCode,
    /// How the body begins.
    pub excerpt: String,
}

impl Target {
    /// Posts JSON and waits for the status no longer than `timeout`.
    pub async fn post(
        &self,
        headers: &[(&'static str, String)],
        body: Bytes,
        timeout: Duration,
    ) -> Result<Posted, FetchError> {
        assert_no_connection_held();
        let request = self.client.post(self.url.clone()).header(CONTENT_TYPE, "application/json");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
        let mut response = request.body(body).timeout(timeout).send().await?;
        let status = response.status();
        // What follows the status does not decide; a body that hangs is cut.
        let excerpt = tokio::time::timeout(EXCERPT_TIMEOUT, read_excerpt(&mut response)).await.unwrap_or_default();
        Ok(Posted { status, excerpt })
    }
}

async fn read_excerpt(response: &mut reqwest::Response) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < MAX_EXCERPT_BYTES
        && let Ok(Some(piece)) = response.chunk().await
    {
        bytes.extend_from_slice(&piece[..piece.len().min(MAX_EXCERPT_BYTES - bytes.len())]);
    }
    String::from_utf8_lossy(&bytes).chars().filter(|c| !c.is_control() || *c == '\n').collect()
}

/// The IP address, if the host is one.
fn literal(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn fetcher(resolved: &'static [&'static str]) -> Fetcher {
        let addresses: Vec<IpAddr> = resolved.iter().map(|text| text.parse().unwrap()).collect();
        let resolver: Resolver = Arc::new(move |_, _| {
            let addresses = addresses.clone();
            Box::pin(async move { Ok(addresses) })
        });
        Fetcher { resolver, roots: Vec::new(), is_lab: false }
    }

    async fn refusal(fetcher: &Fetcher, url: &str) -> String {
        match fetcher.client(&url.parse().unwrap()).await {
            Ok(_) => String::new(),
            Err(FetchError(reason)) => reason,
        }
    }

    #[tokio::test]
    async fn a_name_with_one_private_address_is_rejected() {
        assert_eq!(refusal(&fetcher(&["127.0.0.1"]), "https://upstream.example/").await, NOT_PUBLIC);
        assert_eq!(refusal(&fetcher(&["93.184.215.14", "10.0.0.1"]), "https://upstream.example/").await, NOT_PUBLIC);
        assert_eq!(refusal(&fetcher(&["::ffff:127.0.0.1"]), "https://upstream.example/").await, NOT_PUBLIC);
        assert_eq!(refusal(&fetcher(&["93.184.215.14"]), "https://upstream.example/").await, "");
    }

    #[tokio::test]
    async fn a_private_address_in_any_notation_is_rejected() {
        for host in
            ["127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "[::1]", "[::ffff:169.254.169.254]", "169.254.169.254"]
        {
            assert_eq!(refusal(&fetcher(&[]), &format!("https://{host}/latest")).await, NOT_PUBLIC, "{host}");
        }
        assert_eq!(refusal(&fetcher(&[]), "https://93.184.215.14/").await, "");
    }

    #[tokio::test]
    async fn plain_http_needs_lab_mode() {
        let mut fetcher = fetcher(&["93.184.215.14"]);
        assert_eq!(refusal(&fetcher, "http://upstream.example/").await, "the URL must begin with https://");
        fetcher.is_lab = true;
        assert_eq!(refusal(&fetcher, "http://127.0.0.1/").await, "");
    }
}
