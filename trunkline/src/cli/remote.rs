//! Imports into a service elsewhere, over its API and with an API key of the team.
//!
//! `TRUNKLINE_API_KEY` needs the scope `rates:write` for decks and `cdrs:write` for CDRs. A request that the service
//! cannot take now is repeated; neither import has an effect twice.

use std::path::Path;
use std::time::Duration;

use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::Value;
use uuid::Uuid;

use super::import::{CdrBatches, CdrTotals, IMPORT_POLL, RatesImport, print_import};
use db::Entropy;
use platform::app::StartError;
use platform::config::RemoteSettings;
use platform::http_error;

/// How often a request is sent before the command gives up.
const MAX_TRIES: u32 = 6;
const MAX_WAIT: Duration = Duration::from_secs(60);
const TIMEOUT: Duration = Duration::from_secs(120);
/// Below the service's limit of 16 MiB.
const MAX_CDR_BYTES: usize = 8 * 1024 * 1024;

/// A service that is called with an API key.
pub struct Remote {
    http: reqwest::Client,
    url: String,
    key: String,
}

impl Remote {
    /// The service at this URL, with the key of the settings.
    pub fn new(url: &str, settings: &RemoteSettings) -> Result<Remote, StartError> {
        let key = settings.api_key.clone().ok_or("set TRUNKLINE_API_KEY to an API key of that service")?;
        let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        let http = client.timeout(TIMEOUT).build()?;
        Ok(Remote { http, url: url.trim_end_matches('/').to_owned(), key })
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url)).bearer_auth(&self.key)
    }

    /// The body of a success. What the service cannot do now is tried again.
    async fn send(&self, request: RequestBuilder) -> Result<Value, StartError> {
        let mut tries = 1;
        loop {
            let request = request.try_clone().ok_or("the request cannot be repeated")?;
            let response = request
                .send()
                .await
                .map_err(|error| http_error::unreachable(&http_error::server("the service", &self.url), error))?;
            let (status, wait) = (response.status(), wait_of(&response));
            let is_busy = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
            let body: Value = response.json().await.unwrap_or(Value::Null);
            if status.is_success() {
                return Ok(body);
            }
            if !is_busy || tries == MAX_TRIES {
                return Err(refusal(status, &body).into());
            }
            tries += 1;
            tokio::time::sleep(wait).await;
        }
    }

    /// Imports a rate deck and waits for the result.
    pub async fn import_rates(&self, import: &RatesImport) -> Result<(), StartError> {
        let RatesImport { upstream, file, merge, dry_run, waive_notice } = import;
        let deck = tokio::fs::read(file).await.map_err(|error| format!("{}: {error}", file.display()))?;
        let mode = if *merge { "merge" } else { "replace" };
        let mut query = vec![("mode", mode), ("dry_run", if *dry_run { "true" } else { "false" })];
        if let Some(reason) = waive_notice {
            query.extend([("waive_notice", "true"), ("reason", reason.as_str())]);
        }
        let url = format!("{}/v1/admin/upstreams/{upstream}/rates/import", self.url);
        let url = reqwest::Url::parse_with_params(&url, &query).map_err(|error| format!("{}: {error}", self.url))?;
        let content_type = if deck.starts_with(b"PK") { api::sheet::XLSX } else { "text/csv" };
        let request = self.http.request(Method::POST, url).bearer_auth(&self.key);
        let request = request.header("content-type", content_type).body(deck);
        let queued = self.send(request.header("idempotency-key", idempotency_key().to_string())).await?;
        let id = queued["id"].as_str().ok_or("the service answered without an import")?;
        let path = format!("/v1/admin/upstreams/{upstream}/imports/{id}");
        loop {
            let import = self.send(self.request(Method::GET, &path)).await?;
            if matches!(import["status"].as_str(), Some("completed" | "failed" | "held" | "rejected")) {
                return print_import(&import);
            }
            tokio::time::sleep(IMPORT_POLL).await;
        }
    }

    /// Imports CDRs of another switch, one batch of lines at a time.
    pub async fn import_cdrs(&self, file: &Path) -> Result<(), StartError> {
        let mut batches = CdrBatches::open(file, MAX_CDR_BYTES)?;
        let mut totals = CdrTotals::default();
        while let Some((first, batch)) = batches.next()? {
            let request = self.request(Method::POST, "/switch/cdrs").header("content-type", "application/x-ndjson");
            totals.add(&self.send(request.body(batch)).await?, first);
        }
        totals.finish()
    }
}

fn idempotency_key() -> Uuid {
    uuid::Builder::from_random_bytes(Entropy.bytes()).into_uuid()
}

/// How long the service asks to wait.
fn wait_of(response: &reqwest::Response) -> Duration {
    let asked = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
    Duration::from_secs(asked.unwrap_or(1)).min(MAX_WAIT)
}

/// Why the service refused, for the terminal.
fn refusal(status: StatusCode, body: &Value) -> String {
    let detail = body["detail"].as_str().or(body["title"].as_str()).unwrap_or("no reason was given");
    format!("the service refused ({}): {detail}", status.as_u16())
}
