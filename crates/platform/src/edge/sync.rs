//! The agent: fetches the configuration, writes the files and reloads them in the switch.

use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::config::SwitchTls;
use crate::http_error;

use super::client::http_client;
use super::config::Config;
use super::files::{ADDRESSES, DISPATCHER, address_list, dispatcher_list};

/// How often the configuration is fetched.
pub const POLL_INTERVAL: Duration = Duration::from_secs(2);

const TIMEOUT: Duration = Duration::from_secs(5);
/// Larger than the configuration of any operator.
const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;

/// Kamailio's RPC methods that reload a file.
const RELOAD_METHODS: [(&str, &str); 2] = [(DISPATCHER, "dispatcher.reload"), (ADDRESSES, "permissions.addressReload")];

#[derive(Debug)]
pub struct EdgeError(pub(super) String);

impl fmt::Display for EdgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EdgeError {}

/// The agent of a switch on this machine.
pub struct Edge {
    http: reqwest::Client,
    service: String,
    secret: String,
    tls: SwitchTls,
    folder: PathBuf,
    /// The files that the switch has not reloaded yet.
    pending_reloads: Vec<&'static str>,
}

impl Edge {
    pub fn new(service: &str, secret: String, folder: PathBuf) -> Result<Edge, EdgeError> {
        let tls = SwitchTls::default();
        let http = http_client(&tls, TIMEOUT)?;
        let service = service.trim_end_matches('/').to_owned();
        // The switch may have loaded older files before the agent started.
        Ok(Edge { http, service, secret, tls, folder, pending_reloads: vec![DISPATCHER, ADDRESSES] })
    }

    /// Uses these certificates.
    pub fn with_tls(self, tls: SwitchTls) -> Result<Edge, EdgeError> {
        Ok(Edge { http: http_client(&tls, TIMEOUT)?, tls, ..self })
    }

    /// Writes the files that changed, and returns their names.
    pub async fn render(&mut self) -> Result<Vec<&'static str>, EdgeError> {
        let config = match self.fetch_config().await {
            Ok(config) => config,
            Err(error) => {
                // Its certificate may have been renewed since it was read.
                if self.tls.has_files() {
                    self.http = http_client(&self.tls, TIMEOUT)?;
                }
                return Err(error);
            }
        };
        let mut written = Vec::new();
        for (name, text) in [(DISPATCHER, dispatcher_list(&config)), (ADDRESSES, address_list(&config))] {
            if self.write(name, &text).map_err(|error| EdgeError(format!("{name}: {error}")))? {
                written.push(name);
                self.pending_reloads.retain(|pending| *pending != name);
                self.pending_reloads.push(name);
            }
        }
        Ok(written)
    }

    /// Renders the files, and reloads those that the switch has not loaded yet.
    pub async fn sync(&mut self, control: &str) -> Result<Vec<&'static str>, EdgeError> {
        let written = self.render().await?;
        for (name, method) in RELOAD_METHODS {
            if self.pending_reloads.contains(&name) {
                self.call_rpc(control, method).await?;
                self.pending_reloads.retain(|pending| *pending != name);
            }
        }
        Ok(written)
    }

    async fn fetch_config(&self) -> Result<Config, EdgeError> {
        let request = self.http.get(format!("{}/switch/config", self.service)).bearer_auth(&self.secret);
        let body = read(request, &http_error::server("the service", &self.service)).await?;
        serde_json::from_slice(&body)
            .map_err(|error| EdgeError(format!("the service's configuration is invalid: {error}")))
    }

    /// Replaces the file atomically. False if nothing changed.
    fn write(&self, name: &str, text: &str) -> std::io::Result<bool> {
        let path = self.folder.join(name);
        if std::fs::read(&path).is_ok_and(|current| current == text.as_bytes()) {
            return Ok(false);
        }
        std::fs::create_dir_all(&self.folder)?;
        let draft = self.folder.join(format!(".{name}.new"));
        let mut file = std::fs::File::create(&draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(draft, path)?;
        Ok(true)
    }

    async fn call_rpc(&self, control: &str, method: &str) -> Result<(), EdgeError> {
        let call = json!({"jsonrpc": "2.0", "method": method, "id": 1});
        let request = self.http.post(format!("{}/RPC", control.trim_end_matches('/'))).json(&call);
        let body = read(request, &http_error::server("the switch", control)).await?;
        let response: Value = serde_json::from_slice(&body)
            .map_err(|error| EdgeError(format!("the switch's response is invalid: {error}")))?;
        match response.get("error") {
            None => Ok(()),
            Some(error) => Err(EdgeError(format!("the switch refused {method}: {error}"))),
        }
    }
}

async fn read(request: reqwest::RequestBuilder, who: &str) -> Result<Vec<u8>, EdgeError> {
    let unreachable = |error| EdgeError(http_error::unreachable(who, error));
    let mut response = request.send().await.map_err(unreachable)?;
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(unreachable)? {
        if body.len() + piece.len() > MAX_RESPONSE_BYTES {
            return Err(EdgeError(format!("{who} sent a response that is too large")));
        }
        body.extend_from_slice(&piece);
    }
    match response.status() {
        status if status.is_success() => Ok(body),
        status => Err(EdgeError(format!("{who} responded {}", status.as_u16()))),
    }
}
