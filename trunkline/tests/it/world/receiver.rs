//! A receiver of webhooks: an HTTP server that keeps what it gets and answers as it is told.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_lc_rs::hmac;
use data_encoding::BASE64;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// One request.
#[derive(Clone, Debug)]
pub struct Received {
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Received {
    pub fn id(&self) -> &str {
        &self.headers["webhook-id"]
    }

    pub fn event(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn signatures(&self) -> Vec<&str> {
        self.headers["webhook-signature"].split(' ').collect()
    }

    /// Whether one of the signatures was made with this secret, as the standard says.
    pub fn is_signed_with(&self, secret: &Value) -> bool {
        let secret = secret.as_str().unwrap().strip_prefix("whsec_").unwrap();
        let key = hmac::Key::new(hmac::HMAC_SHA256, &BASE64.decode(secret.as_bytes()).unwrap());
        let head = format!("{}.{}.", self.id(), self.headers["webhook-timestamp"]);
        let signed = [head.as_bytes(), &self.body].concat();
        let expected = format!("v1,{}", BASE64.encode(hmac::sign(&key, &signed).as_ref()));
        self.signatures().contains(&expected.as_str())
    }
}

/// How the receiver answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    Status(u16),
    /// Not before it is told another.
    Hang,
}

pub struct Receiver {
    pub url: String,
    reply: watch::Sender<Reply>,
    received: Arc<Mutex<Vec<Received>>>,
    arrived: watch::Receiver<usize>,
}

impl Receiver {
    pub async fn start() -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let (reply, replies) = watch::channel(Reply::Status(200));
        let received: Arc<Mutex<Vec<Received>>> = Arc::default();
        let (count, arrived) = watch::channel(0);
        let (kept, count) = (received.clone(), Arc::new(count));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (kept, count, replies) = (kept.clone(), count.clone(), replies.clone());
                tokio::spawn(async move { serve(stream, &kept, &count, replies).await });
            }
        });
        Receiver { url, reply, received, arrived }
    }

    pub fn reply(&self, reply: Reply) {
        self.reply.send_replace(reply);
    }

    /// What has arrived, and forgets it.
    pub fn take(&self) -> Vec<Received> {
        std::mem::take(&mut self.received.lock().unwrap())
    }

    /// Waits until this many requests have arrived in all.
    pub async fn until(&self, count: usize) {
        let mut arrived = self.arrived.clone();
        let waited = tokio::time::timeout(Duration::from_secs(60), arrived.wait_for(|arrived| *arrived >= count)).await;
        waited.expect("the webhooks arrive").unwrap();
    }
}

async fn serve(
    mut stream: TcpStream,
    kept: &Mutex<Vec<Received>>,
    count: &watch::Sender<usize>,
    mut replies: watch::Receiver<Reply>,
) {
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut buffer).await {
        let reply = *replies.borrow_and_update();
        kept.lock().unwrap().push(request);
        count.send_modify(|count| *count += 1);
        let status = match reply {
            Reply::Status(status) => status,
            Reply::Hang => {
                let _ = replies.changed().await;
                200
            }
        };
        let answer = format!("HTTP/1.1 {status} X\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 6\r\n\r\nthanks");
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Received> {
    loop {
        if let Some(end) = memchr::memmem::find(buffer, b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
            let pairs = head.lines().skip(1).filter_map(|line| line.split_once(": "));
            let headers: BTreeMap<String, String> =
                pairs.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
            let length: usize = headers.get("content-length").map_or(0, |text| text.parse().unwrap());
            if buffer.len() >= end + 4 + length {
                let body = buffer[end + 4..end + 4 + length].to_vec();
                buffer.drain(..end + 4 + length);
                return Some(Received { headers, body });
            }
        }
        if stream.read_buf(buffer).await.is_ok_and(|length| length > 0) {
            continue;
        }
        return None;
    }
}
