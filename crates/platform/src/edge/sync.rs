//! Keeps a switch's files in step with the service.

use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::config::Config;
use super::files::{ADDRESSES, DISPATCHER, address_list, dispatcher_list};

/// How often the service is asked.
pub const POLL: Duration = Duration::from_secs(2);

const TIMEOUT: Duration = Duration::from_secs(5);
/// More than the files of the largest carrier.
const ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// The switch's own names for reading a file again.
const RELOADS: [(&str, &str); 2] = [(DISPATCHER, "dispatcher.reload"), (ADDRESSES, "permissions.addressReload")];

#[derive(Debug)]
pub struct EdgeError(String);

impl fmt::Display for EdgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EdgeError {}

/// A switch on this machine, and the service it works for.
pub struct Edge {
    http: reqwest::Client,
    service: String,
    secret: String,
    folder: PathBuf,
    /// The files that the switch has yet to read.
    unread: Vec<&'static str>,
}

impl Edge {
    pub fn new(service: &str, secret: String, folder: PathBuf) -> Result<Edge, EdgeError> {
        let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        let http = client.timeout(TIMEOUT).build().map_err(|error| EdgeError(error.to_string()))?;
        let service = service.trim_end_matches('/').to_owned();
        // What the switch read before we came is not known.
        Ok(Edge { http, service, secret, folder, unread: vec![DISPATCHER, ADDRESSES] })
    }

    /// Writes the files anew where they differ, and answers those that did.
    pub async fn render(&mut self) -> Result<Vec<&'static str>, EdgeError> {
        let config = self.config().await?;
        let mut written = Vec::new();
        for (name, text) in [(DISPATCHER, dispatcher_list(&config)), (ADDRESSES, address_list(&config))] {
            if self.write(name, &text).map_err(|error| EdgeError(format!("{name}: {error}")))? {
                written.push(name);
                self.unread.retain(|unread| *unread != name);
                self.unread.push(name);
            }
        }
        Ok(written)
    }

    /// Renders, and has the switch read what it has not read yet.
    pub async fn sync(&mut self, control: &str) -> Result<Vec<&'static str>, EdgeError> {
        let written = self.render().await?;
        for (name, method) in RELOADS {
            if self.unread.contains(&name) {
                self.order(control, method).await?;
                self.unread.retain(|unread| *unread != name);
            }
        }
        Ok(written)
    }

    async fn config(&self) -> Result<Config, EdgeError> {
        let asked = self.http.get(format!("{}/switch/config", self.service)).bearer_auth(&self.secret);
        let body = read(asked, "the service").await?;
        serde_json::from_slice(&body).map_err(|error| EdgeError(format!("the service's configuration: {error}")))
    }

    /// A file appears whole or not at all, and is left alone when nothing differs.
    fn write(&self, name: &str, text: &str) -> std::io::Result<bool> {
        let place = self.folder.join(name);
        if std::fs::read(&place).is_ok_and(|kept| kept == text.as_bytes()) {
            return Ok(false);
        }
        std::fs::create_dir_all(&self.folder)?;
        let draft = self.folder.join(format!(".{name}.new"));
        let mut file = std::fs::File::create(&draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(draft, place)?;
        Ok(true)
    }

    async fn order(&self, control: &str, method: &str) -> Result<(), EdgeError> {
        let order = json!({"jsonrpc": "2.0", "method": method, "id": 1});
        let asked = self.http.post(format!("{}/RPC", control.trim_end_matches('/'))).json(&order);
        let body = read(asked, "the switch").await?;
        let answer: Value =
            serde_json::from_slice(&body).map_err(|error| EdgeError(format!("the switch's answer: {error}")))?;
        match answer.get("error") {
            None => Ok(()),
            Some(error) => Err(EdgeError(format!("the switch refused {method}: {error}"))),
        }
    }
}

async fn read(request: reqwest::RequestBuilder, who: &str) -> Result<Vec<u8>, EdgeError> {
    let unreachable = |error: reqwest::Error| EdgeError(format!("{who} cannot be reached: {}", error.without_url()));
    let mut answer = request.send().await.map_err(unreachable)?;
    let mut body = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(unreachable)? {
        if body.len() + piece.len() > ANSWER_BYTES {
            return Err(EdgeError(format!("{who} answers without end")));
        }
        body.extend_from_slice(&piece);
    }
    match answer.status() {
        status if status.is_success() => Ok(body),
        status => Err(EdgeError(format!("{who} answered {}", status.as_u16()))),
    }
}
