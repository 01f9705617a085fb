//! Files fetched from addresses that somebody typed in.
//!
//! Whoever may name an address must not be able to look through us into our own network. So only https is spoken, a name
//! is resolved once and every address it has must be one of the public internet, the connection goes to what was
//! checked, redirects lead nowhere, and size and time are bounded. In lab mode any address will do.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt};
use reqwest::StatusCode;
use reqwest::header::{ETAG, IF_NONE_MATCH};

use values::{WebUrl, is_public_ip};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the other side may be silent.
const SILENCE: Duration = Duration::from_secs(30);
const WHOLE_TIMEOUT: Duration = Duration::from_secs(600);
const LONGEST_ETAG: usize = 200;
const ADDRESSES_AT_MOST: usize = 16;

/// Finds the addresses of a name.
pub type Resolver = Arc<dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

/// The system's way to find them.
pub fn system_resolver() -> Resolver {
    Arc::new(|name, port| {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), port)).await?;
            Ok(found.map(|address| address.ip()).take(ADDRESSES_AT_MOST).collect())
        })
    })
}

#[derive(Clone)]
pub struct Fetcher {
    pub resolver: Resolver,
    /// Whom to trust beside a name.
    pub roots: Vec<reqwest::Certificate>,
    pub is_lab: bool,
}

/// What a server answered.
pub enum Fetched {
    /// What we have already.
    Unchanged,
    File {
        etag: Option<String>,
        body: BoxStream<'static, Result<Bytes, FetchError>>,
    },
}

/// Why there is no file, fit for whoever typed the address in.
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
        // The address may carry a key in its query.
        let error = error.without_url();
        let what = if error.is_timeout() { "did not answer in time" } else { "cannot be reached" };
        let mut reason = format!("the server {what}: {error}");
        let mut cause = std::error::Error::source(&error);
        while let Some(deeper) = cause {
            reason.push_str(&format!(": {deeper}"));
            cause = deeper.source();
        }
        FetchError(reason)
    }
}

impl Fetcher {
    /// Fetches a file, unless it is the one of this tag.
    pub async fn fetch(&self, from: &WebUrl, known: Option<&str>) -> Result<Fetched, FetchError> {
        let client = self.client(from).await?;
        let mut request = client.get(from.url().clone());
        if let Some(etag) = known {
            request = request.header(IF_NONE_MATCH, etag);
        }
        let mut answer = request.send().await?;
        match answer.status() {
            StatusCode::OK => {}
            StatusCode::NOT_MODIFIED if known.is_some() => return Ok(Fetched::Unchanged),
            status if status.is_redirection() => {
                return Err(FetchError(format!(
                    "the server answered {}, and redirects are not followed",
                    status.as_u16()
                )));
            }
            status => return Err(FetchError(format!("the server answered {}", status.as_u16()))),
        }
        let etag = answer.headers_mut().remove(ETAG).and_then(|tag| tag.to_str().ok().map(str::to_owned));
        let body = stream::try_unfold(answer, async |mut answer| {
            Ok::<_, FetchError>(answer.chunk().await?.map(|piece| (piece, answer)))
        });
        Ok(Fetched::File { etag: etag.filter(|tag| tag.len() <= LONGEST_ETAG), body: body.boxed() })
    }

    /// A client that can reach nothing but the addresses that were looked at.
    async fn client(&self, from: &WebUrl) -> Result<reqwest::Client, FetchError> {
        if !from.is_encrypted() && !self.is_lab {
            return Err(FetchError("the address must begin with https://".into()));
        }
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .tls_certs_only(self.roots.clone())
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(SILENCE)
            .timeout(WHOLE_TIMEOUT);
        let client = match from.url().host_str().map(|host| (host, literal(host))) {
            None => return Err(FetchError("the address has no host".into())),
            Some((_, Some(address))) => {
                self.admit(address)?;
                client
            }
            Some((name, None)) => client.resolve_to_addrs(name, &self.addresses(name, from).await?),
        };
        Ok(client.build()?)
    }

    async fn addresses(&self, name: &str, from: &WebUrl) -> Result<Vec<SocketAddr>, FetchError> {
        let port = from.url().port_or_known_default().unwrap_or(443);
        let found = (self.resolver)(name.to_owned(), port);
        let late = |_| FetchError(format!("{name} was not resolved in time"));
        let found = tokio::time::timeout(CONNECT_TIMEOUT, found).await.map_err(late)?;
        let found = found.map_err(|error| FetchError(format!("{name} cannot be resolved: {error}")))?;
        if found.is_empty() {
            return Err(FetchError(format!("{name} has no address")));
        }
        found.iter().try_for_each(|address| self.admit(*address))?;
        Ok(found.into_iter().map(|address| SocketAddr::new(address, port)).collect())
    }

    fn admit(&self, address: IpAddr) -> Result<(), FetchError> {
        if self.is_lab || is_public_ip(address) {
            return Ok(());
        }
        Err(FetchError("the address does not lead to the public internet".into()))
    }
}

/// The address that a host is written as, if it is.
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

    const INWARD: &str = "the address does not lead to the public internet";

    #[tokio::test]
    async fn a_name_that_leads_inward_is_refused_even_by_one_of_its_addresses() {
        assert_eq!(refusal(&fetcher(&["127.0.0.1"]), "https://carrier.example/").await, INWARD);
        assert_eq!(refusal(&fetcher(&["93.184.215.14", "10.0.0.1"]), "https://carrier.example/").await, INWARD);
        assert_eq!(refusal(&fetcher(&["::ffff:127.0.0.1"]), "https://carrier.example/").await, INWARD);
        assert_eq!(refusal(&fetcher(&["93.184.215.14"]), "https://carrier.example/").await, "");
    }

    #[tokio::test]
    async fn an_address_written_in_any_other_way_is_looked_at_too() {
        for host in
            ["127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "[::1]", "[::ffff:169.254.169.254]", "169.254.169.254"]
        {
            assert_eq!(refusal(&fetcher(&[]), &format!("https://{host}/latest")).await, INWARD, "{host}");
        }
        assert_eq!(refusal(&fetcher(&[]), "https://93.184.215.14/").await, "");
    }

    #[tokio::test]
    async fn what_is_not_encrypted_is_not_fetched_outside_of_a_lab() {
        let mut fetcher = fetcher(&["93.184.215.14"]);
        assert_eq!(refusal(&fetcher, "http://carrier.example/").await, "the address must begin with https://");
        fetcher.is_lab = true;
        assert_eq!(refusal(&fetcher, "http://127.0.0.1/").await, "");
    }
}
