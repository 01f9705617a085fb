//! Somebody who asks until there is an answer, however often the service dies over it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;
use uuid::Uuid;

use crate::Outcome;
use crate::http::{Answer, Client, get, post};
use crate::service::sign_in;

/// Longer than any answer takes.
const ANSWERED_WITHIN: Duration = Duration::from_secs(15);
/// A caller that still has no answer then has found a fault.
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(20);

/// A write that may be sent again.
#[derive(Clone)]
pub struct Request {
    pub path: &'static str,
    pub key: Uuid,
    pub body: Value,
}

pub struct Caller {
    public: SocketAddr,
    email: String,
    token: Option<String>,
    connection: Option<Client>,
    /// How many requests were not answered the first time.
    pub again: usize,
}

impl Caller {
    pub fn new(public: SocketAddr, email: &str) -> Caller {
        Caller { public, email: email.to_owned(), token: None, connection: None, again: 0 }
    }

    pub async fn write(&mut self, request: &Request) -> Outcome<Answer> {
        let Request { path, key, body } = request;
        self.ask(|token| post(path, &format!("Authorization: Bearer {token}\r\nIdempotency-Key: {key}\r\n"), body))
            .await
    }

    /// What a path shows, which must be there.
    pub async fn read(&mut self, path: &str) -> Outcome<Value> {
        let answer = self.ask(|token| get(path, Some(token))).await?;
        if answer.status != 200 {
            return Err(format!("GET {path}: {}", told(&answer)).into());
        }
        Ok(serde_json::from_slice(&answer.body)?)
    }

    /// Sends a request, made with the token of the day, until an answer comes that a retry would not better.
    pub async fn ask(&mut self, request: impl Fn(&str) -> Vec<u8>) -> Outcome<Answer> {
        let begun = Instant::now();
        for attempt in 1_u64.. {
            match tokio::time::timeout(ANSWERED_WITHIN, self.ask_once(&request)).await {
                Ok(Ok(answer)) if answer.status == 401 => self.token = None,
                Ok(Ok(answer)) if !passes(&answer) => {
                    self.again += usize::from(attempt > 1);
                    return Ok(answer);
                }
                Ok(Ok(_)) => {}
                // Nobody is there, or was until a moment ago.
                Ok(Err(_)) | Err(_) => self.connection = None,
            }
            if begun.elapsed() > PATIENCE {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(format!("{} had no answer in {} s", self.email, PATIENCE.as_secs()).into())
    }

    async fn ask_once(&mut self, request: &impl Fn(&str) -> Vec<u8>) -> Outcome<Answer> {
        let token = match &self.token {
            Some(token) => token,
            None => self.token.insert(sign_in(self.public, &self.email).await?),
        };
        let request = request(token);
        let client = match &mut self.connection {
            Some(client) => client,
            None => self.connection.insert(Client::connect(self.public).await?),
        };
        Ok(client.send(&request).await?)
    }
}

/// Whether the service only asked for patience.
fn passes(answer: &Answer) -> bool {
    let says = |code: &str| String::from_utf8_lossy(&answer.body).contains(code);
    answer.status == 503 || (answer.status == 409 && says("idempotency.in_progress"))
}

/// An answer as a fault tells it.
pub fn told(answer: &Answer) -> String {
    format!("{} {}", answer.status, String::from_utf8_lossy(&answer.body))
}
