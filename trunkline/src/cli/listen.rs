//! Events of a running service on the terminal, and forwarded to a program that is being developed.
//!
//! Both commands read `GET /events/stream` with the token in TRUNKLINE_API_KEY. When the stream ends they connect again
//! and resume after the last event. A forwarded event looks like a webhook: same body, same headers, signed with a
//! secret that is printed at the start.

use std::time::{Duration, Instant};

use data_encoding::BASE64;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Response, StatusCode, Url};
use serde_json::Value;

use super::print_line;
use db::{Clock, Entropy};
use platform::app::StartError;
use platform::crypto::keys::mac_with;
use platform::http_error;

const DEFAULT_URL: &str = "http://127.0.0.1:8080";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The service sends something every 15 seconds.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(60);
const FORWARD_TIMEOUT: Duration = Duration::from_secs(15);
const RECONNECT_PAUSE: Duration = Duration::from_secs(2);
const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// Which events to read.
pub struct EventSource {
    /// Those of all customers, for a token of the team.
    pub is_team: bool,
    /// Only these types; all if there are none.
    pub types: Vec<String>,
}

/// Prints every event as a line of JSON.
pub async fn tail_events(source: EventSource) -> Result<(), StartError> {
    let mut reader = EventReader::new(source)?;
    loop {
        let event = reader.next().await?;
        print_line(&event.data);
    }
}

/// Posts every event to a URL and prints its type, id and the response.
pub async fn listen(source: EventSource, forward_to: &str, secret: Option<&str>) -> Result<(), StartError> {
    let target: Url = forward_to.parse().map_err(|error| format!("--forward-to {error}"))?;
    let secret = match secret {
        Some(text) => read_secret(text).ok_or("--secret must be whsec_ and 32 bytes in base64")?,
        None => Entropy.bytes(),
    };
    let client = Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build()?;
    let mut reader = EventReader::new(source)?;
    print_line(&format!("Forwarding events to {target}"));
    print_line(&format!("Signed with whsec_{}", BASE64.encode(&secret)));
    loop {
        let event = reader.next().await?;
        let started = Instant::now();
        let outcome = match forward(&client, &target, &secret, &event).await {
            Ok(status) => format!("{} in {} ms", status.as_u16(), started.elapsed().as_millis()),
            Err(error) => format!("failed: {}", http_error::reason(error)),
        };
        print_line(&format!("{} {} -> {outcome}", event.kind, event.id));
    }
}

fn read_secret(text: &str) -> Option<[u8; 32]> {
    BASE64.decode(text.strip_prefix("whsec_")?.as_bytes()).ok()?.try_into().ok()
}

async fn forward(client: &Client, to: &Url, secret: &[u8; 32], event: &StreamedEvent) -> reqwest::Result<StatusCode> {
    let seconds = Clock::system().now().seconds().to_string();
    let signed = format!("{}.{seconds}.{}", event.id, event.data);
    let signature = format!("v1,{}", BASE64.encode(&mac_with(secret, signed.as_bytes())));
    let request = client.post(to.clone()).timeout(FORWARD_TIMEOUT).header(CONTENT_TYPE, "application/json");
    let request = request.header("webhook-id", &event.id).header("webhook-timestamp", seconds);
    let response = request.header("webhook-signature", signature).body(event.data.clone()).send().await?;
    Ok(response.status())
}

/// An event as the stream sends it.
struct StreamedEvent {
    id: String,
    kind: String,
    data: String,
}

/// Reads the stream, again and again.
struct EventReader {
    client: Client,
    url: Url,
    token: String,
    types: Vec<String>,
    last: Option<String>,
    open: Option<Response>,
    received: Vec<u8>,
}

impl EventReader {
    fn new(source: EventSource) -> Result<EventReader, StartError> {
        let base = std::env::var("TRUNKLINE_URL").unwrap_or_else(|_| DEFAULT_URL.to_owned());
        let path = if source.is_team { "/v1/admin/events/stream" } else { "/v1/events/stream" };
        let url = format!("{}{path}", base.trim_end_matches('/')).parse();
        let url: Url = url.map_err(|error| format!("TRUNKLINE_URL: {error}"))?;
        let token = std::env::var("TRUNKLINE_API_KEY")
            .map_err(|_| "set TRUNKLINE_API_KEY to an API key or an access token of the service")?;
        let client = Client::builder().no_proxy().connect_timeout(CONNECT_TIMEOUT).read_timeout(SILENCE_TIMEOUT);
        let (types, client) = (source.types, client.build()?);
        Ok(EventReader { client, url, token, types, last: None, open: None, received: Vec::new() })
    }

    /// The next event. Only a refusal ends it; everything else is tried again.
    async fn next(&mut self) -> Result<StreamedEvent, StartError> {
        loop {
            while let Some(block) = self.take_block() {
                self.last = line(&block, "id: ").or(self.last.take());
                let Some(event) = read_event(&block) else { continue };
                if self.types.is_empty() || self.types.contains(&event.kind) {
                    return Ok(event);
                }
            }
            if self.open.is_none() {
                self.connect().await?;
            }
            let piece = match &mut self.open {
                Some(open) => open.chunk().await.ok().flatten(),
                None => None,
            };
            match piece {
                Some(piece) if self.received.len() < MAX_EVENT_BYTES => self.received.extend_from_slice(&piece),
                _ => {
                    (self.open, self.received) = (None, Vec::new());
                    tokio::time::sleep(RECONNECT_PAUSE).await;
                }
            }
        }
    }

    /// Opens the stream; what may pass is left to the next try.
    async fn connect(&mut self) -> Result<(), StartError> {
        let mut request = self.client.get(self.url.clone()).bearer_auth(&self.token);
        if let Some(last) = &self.last {
            request = request.header("Last-Event-ID", last);
        }
        let response = match request.send().await {
            Ok(response) => response,
            // At the start it is more likely a wrong address than a restart.
            Err(error) if self.last.is_none() => {
                let service = http_error::server("the service", self.url.as_str());
                return Err(http_error::unreachable(&service, error).into());
            }
            Err(_) => return Ok(()),
        };
        match response.status() {
            StatusCode::OK => self.open = Some(response),
            status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {}
            status => {
                let problem: Value = response.json().await.unwrap_or_default();
                let detail = problem["detail"].as_str().unwrap_or("no reason was given");
                return Err(format!("the service responded {}: {detail}", status.as_u16()).into());
            }
        }
        Ok(())
    }

    /// The next lines up to an empty one.
    fn take_block(&mut self) -> Option<String> {
        let end = self.received.windows(2).position(|pair| pair == b"\n\n")?;
        let block = String::from_utf8_lossy(&self.received[..end]).into_owned();
        self.received.drain(..end + 2);
        Some(block)
    }
}

/// The event of a block; comments and what the stream begins with have none.
fn read_event(block: &str) -> Option<StreamedEvent> {
    Some(StreamedEvent { id: line(block, "id: ")?, kind: line(block, "event: ")?, data: line(block, "data: ")? })
}

/// The rest of the line that begins with this.
fn line(block: &str, start: &str) -> Option<String> {
    block.lines().find_map(|line| line.strip_prefix(start)).map(str::to_owned)
}
