//! A minimal HTTP/1.1 client over one persistent connection, cheap enough not to compete with the service for CPU.

use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A series has at most 5,000 points.
const MAX_RESPONSE_BYTES: usize = 4 * 1024 * 1024;

pub struct Client {
    pub stream: TcpStream,
    buffer: Vec<u8>,
}

/// A response, and its size on the wire in bytes.
pub struct Response {
    pub status: u16,
    pub body: Vec<u8>,
    pub length: usize,
    /// Whether the service closes the connection after it.
    pub closes: bool,
}

impl Client {
    pub async fn connect(address: SocketAddr) -> Result<Client> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Client { stream, buffer: vec![0; MAX_RESPONSE_BYTES] })
    }

    pub async fn send(&mut self, request: &[u8]) -> Result<Response> {
        self.stream.write_all(request).await?;
        self.receive().await
    }

    pub async fn receive(&mut self) -> Result<Response> {
        let mut filled = 0;
        loop {
            if let Some(response) = parse(&self.buffer[..filled]) {
                return Ok(response);
            }
            filled += self.read(filled).await?;
        }
    }

    /// Sends a request whose response must be a 200 of `length` bytes; nothing else of it is checked.
    pub async fn send_repeated(&mut self, request: &[u8], length: usize) -> Result<()> {
        self.stream.write_all(request).await?;
        let mut filled = 0;
        while filled < length {
            filled += self.read(filled).await?;
        }
        if filled == length && self.buffer.starts_with(b"HTTP/1.1 200 ") {
            Ok(())
        } else {
            Err(Error::other(format!(
                "response differs from the first one: {}",
                String::from_utf8_lossy(&self.buffer[..filled])
            )))
        }
    }

    async fn read(&mut self, filled: usize) -> Result<usize> {
        match self.stream.read(&mut self.buffer[filled..]).await? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            read => Ok(read),
        }
    }
}

/// Parses a response with a Content-Length; `None` until it has arrived completely.
fn parse(bytes: &[u8]) -> Option<Response> {
    let head_length = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(&bytes[..head_length]).ok()?;
    let status = head.get(9..12)?.parse().ok()?;
    let length_of = |line: &str| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    };
    let length = head_length + head.lines().find_map(length_of).unwrap_or(0);
    let closes = head.lines().any(|line| line.eq_ignore_ascii_case("connection: close"));
    Some(Response { status, body: bytes.get(head_length..length)?.to_vec(), length, closes })
}

pub fn get(path: &str, token: Option<&str>) -> Vec<u8> {
    let authorization = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{authorization}\r\n").into_bytes()
}

pub fn post(path: &str, header: &str, body: &serde_json::Value) -> Vec<u8> {
    post_body("application/json", path, header, &body.to_string())
}

/// A form post, as a browser sends it.
pub fn post_form(path: &str, fields: &str) -> Vec<u8> {
    post_body("application/x-www-form-urlencoded", path, "", fields)
}

/// A POST request with any media type.
pub fn post_body(media_type: &str, path: &str, header: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media_type}\r\n{header}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
