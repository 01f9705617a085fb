//! The S3 client: signed requests, each with a timeout, retried if that can help.
//!
//! Errors carry S3's code (`NoSuchBucket`, `SignatureDoesNotMatch`). A signed URL grants access until it expires, so no
//! error contains one; the secret key is in no `Debug` output.

use std::time::Duration;
use std::{error, fmt};

use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use reqwest::header::CONTENT_LENGTH;
use reqwest::{Body, Response, StatusCode};
use rusty_s3::actions::ListObjectsV2;
use rusty_s3::{Bucket as Address, Credentials, Method, S3Action, UrlStyle};
use tokio::time::timeout;

use super::incoming::ReceivedBody;
use super::{Content, FilesError};
use crate::http_error;
use db::Clock;
use values::Time;

/// How long a signature is valid; clocks may differ by nearly as much.
const SIGNATURE_TTL: Duration = Duration::from_secs(5 * 60);
/// For a small request, and for each chunk of a large response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// For an upload, plus one second per MiB.
const PUT_TIMEOUT: Duration = Duration::from_secs(120);
const ATTEMPTS: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// A page of 1000 objects is much smaller.
const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;
const CHECKSUM: &str = "x-amz-checksum-sha256";

type Headers<'a> = &'a [(&'static str, String)];

#[derive(Clone, PartialEq, Eq)]
pub struct BucketSettings {
    pub endpoint: reqwest::Url,
    pub bucket: String,
    pub region: String,
    pub key_id: String,
    pub secret: String,
    pub addressing: Addressing,
}

impl fmt::Debug for BucketSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("BucketSettings");
        shown.field("endpoint", &self.endpoint.as_str()).field("bucket", &self.bucket).finish_non_exhaustive()
    }
}

/// Where the bucket is in the URL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Addressing {
    /// `https://endpoint/bucket/…`
    Path,
    /// `https://bucket.endpoint/…`
    Host,
}

/// Why a request to the bucket failed.
#[derive(Debug)]
pub struct BucketError {
    reason: String,
    /// S3's error code, if it responded.
    code: Option<String>,
    is_temporary: bool,
}

impl BucketError {
    pub fn temporary(reason: impl Into<String>) -> BucketError {
        BucketError { reason: reason.into(), code: None, is_temporary: true }
    }

    pub fn permanent(reason: impl Into<String>) -> BucketError {
        BucketError { reason: reason.into(), code: None, is_temporary: false }
    }

    /// Whether a retry may succeed.
    pub fn is_temporary(&self) -> bool {
        self.is_temporary
    }

    /// The same error, prefixed with its subject.
    pub fn about(self, subject: &str) -> BucketError {
        BucketError { reason: format!("{subject}: {}", self.reason), ..self }
    }

    fn unreachable(error: reqwest::Error) -> BucketError {
        BucketError::temporary(http_error::unreachable("S3", error))
    }

    fn from_response(method: &str, status: StatusCode, body: &str) -> BucketError {
        let code = between(body, "<Code>", "</Code>").map(str::to_owned);
        let reason =
            format!("S3 responded {} {} to {method}", status.as_u16(), code.as_deref().unwrap_or("without a code"));
        // S3 responds 400 when a body arrives too slowly.
        let is_late = code.as_deref() == Some("RequestTimeout");
        let is_temporary = is_late || status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
        BucketError { reason, code, is_temporary }
    }
}

impl fmt::Display for BucketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl error::Error for BucketError {}

/// An object of the bucket.
pub struct Object {
    pub key: String,
    pub stored_at: Time,
}

/// A page of objects, sorted by key.
pub struct Page {
    pub objects: Vec<Object>,
    pub is_last: bool,
}

pub struct S3 {
    address: Address,
    credentials: Credentials,
    http: reqwest::Client,
    /// Always the system's clock: S3 checks signatures against real time, also while a test clock is set.
    clock: Clock,
}

impl S3 {
    pub fn new(settings: &BucketSettings, http: reqwest::Client) -> Result<S3, BucketError> {
        let style = match settings.addressing {
            Addressing::Path => UrlStyle::Path,
            Addressing::Host => UrlStyle::VirtualHost,
        };
        let (name, region) = (settings.bucket.clone(), settings.region.clone());
        let address = Address::new(settings.endpoint.clone(), style, name, region)
            .map_err(|_| BucketError::permanent("endpoint and bucket do not form a URL"))?;
        let credentials = Credentials::new(&*settings.key_id, &*settings.secret);
        Ok(S3 { address, credentials, http, clock: Clock::system() })
    }

    /// Stores a body under a key. S3 verifies its checksum.
    pub async fn put(&self, key: &str, upload: &ReceivedBody) -> Result<(), FilesError> {
        let checksum = data_encoding::BASE64.encode(&upload.sealed.sha256);
        let mut action = self.address.put_object(Some(&self.credentials), key);
        action.headers_mut().insert(CHECKSUM, &*checksum);
        let length = upload.sealed.size_bytes.to_string();
        let headers = [(CONTENT_LENGTH.as_str(), length), (CHECKSUM, checksum.clone())];
        let limit = PUT_TIMEOUT + Duration::from_secs(upload.sealed.size_bytes >> 20);
        let mut attempt = 1;
        loop {
            let body = Body::from(upload.open().await?);
            match self.try_once(&action, &headers, body, limit).await {
                Ok(_) => return Ok(()),
                Err(error) => pause_or_fail(error, attempt).await?,
            }
            attempt += 1;
        }
    }

    /// Stores an empty object.
    pub async fn put_marker(&self, key: &str) -> Result<(), BucketError> {
        let action = self.address.put_object(Some(&self.credentials), key);
        self.send(&action, &[(CONTENT_LENGTH.as_str(), "0".to_owned())]).await.map(drop)
    }

    /// The size and content of an object, if it exists.
    pub async fn get(&self, key: &str) -> Result<Option<(u64, Content)>, BucketError> {
        let action = self.address.get_object(Some(&self.credentials), key);
        let response = match self.send(&action, &[]).await {
            Ok(response) => response,
            Err(error) if error.code.as_deref() == Some("NoSuchKey") => return Ok(None),
            Err(error) => return Err(error),
        };
        let size_bytes =
            response.content_length().ok_or_else(|| BucketError::permanent("S3 did not send a content length"))?;
        Ok(Some((size_bytes, pieces(response))))
    }

    /// Deletes an object, without retries: a retry that overtakes its delayed first attempt could delete an object that
    /// was stored in between.
    pub async fn delete_once(&self, key: &str) -> Result<(), BucketError> {
        let action = self.address.delete_object(Some(&self.credentials), key);
        self.try_once(&action, &[], Body::default(), RESPONSE_TIMEOUT).await.map(drop)
    }

    /// Lists the objects with this prefix whose keys come after `after`.
    pub async fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Page, BucketError> {
        let mut action = self.address.list_objects_v2(Some(&self.credentials));
        action.with_max_keys(limit);
        if !prefix.is_empty() {
            action.with_prefix(prefix);
        }
        if !after.is_empty() {
            action.with_start_after(after);
        }
        let text = text(self.send(&action, &[]).await?).await?;
        let unreadable = || BucketError::permanent("S3's list of objects cannot be read");
        let listed = ListObjectsV2::parse_response(&text).map_err(|_| unreadable())?;
        let is_last = listed.next_continuation_token.is_none();
        let objects = listed.contents.into_iter().map(|found| {
            let stored_at: Timestamp = found.last_modified?.parse().ok()?;
            Some(Object { key: found.key, stored_at: Time::from_millis(stored_at.as_millisecond()) })
        });
        Ok(Page { objects: objects.collect::<Option<_>>().ok_or_else(unreadable)?, is_last })
    }

    async fn send<'a>(&self, action: &impl S3Action<'a>, headers: Headers<'_>) -> Result<Response, BucketError> {
        let mut attempt = 1;
        loop {
            match self.try_once(action, headers, Body::default(), RESPONSE_TIMEOUT).await {
                Ok(response) => return Ok(response),
                Err(error) => pause_or_fail(error, attempt).await?,
            }
            attempt += 1;
        }
    }

    async fn try_once<'a, A: S3Action<'a>>(
        &self,
        action: &A,
        headers: Headers<'_>,
        body: Body,
        within: Duration,
    ) -> Result<Response, BucketError> {
        let now = Timestamp::from_millisecond(self.clock.now().millis());
        let now = now.map_err(|_| BucketError::permanent("the system's clock is wrong"))?;
        let method = match A::METHOD {
            Method::Head => reqwest::Method::HEAD,
            Method::Get => reqwest::Method::GET,
            Method::Post => reqwest::Method::POST,
            Method::Put => reqwest::Method::PUT,
            Method::Delete => reqwest::Method::DELETE,
        };
        let request = self.http.request(method, action.sign_with_time(SIGNATURE_TTL, &now)).body(body);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
        let late = |_| BucketError::temporary(format!("S3 did not respond within {} s", within.as_secs()));
        let response = timeout(within, request.send()).await.map_err(late)?.map_err(BucketError::unreachable)?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let body = text(response).await.unwrap_or_default();
        Err(BucketError::from_response(A::METHOD.to_str(), status, &body))
    }
}

async fn pause_or_fail(error: BucketError, attempt: u32) -> Result<(), BucketError> {
    if !error.is_temporary || attempt >= ATTEMPTS {
        return Err(error);
    }
    tracing::warn!(%error, attempt, "S3 request failed, retrying");
    tokio::time::sleep(FIRST_PAUSE * 4u32.saturating_pow(attempt - 1)).await;
    Ok(())
}

/// Reads a short response.
async fn text(mut response: Response) -> Result<String, BucketError> {
    let mut text = Vec::new();
    while let Some(piece) = next_chunk(&mut response).await? {
        text.extend_from_slice(&piece);
        if text.len() > MAX_TEXT_BYTES {
            return Err(BucketError::permanent("S3's response is too large"));
        }
    }
    String::from_utf8(text).map_err(|_| BucketError::permanent("S3's response is not UTF-8"))
}

async fn next_chunk(response: &mut Response) -> Result<Option<bytes::Bytes>, BucketError> {
    let late = |_| BucketError::temporary("S3 stopped in the middle of its response");
    timeout(RESPONSE_TIMEOUT, response.chunk()).await.map_err(late)?.map_err(BucketError::unreachable)
}

fn pieces(response: Response) -> Content {
    let pieces = stream::try_unfold(response, async |mut response| {
        let piece = next_chunk(&mut response).await.map_err(std::io::Error::other)?;
        Ok(piece.map(|piece| (piece, response)))
    });
    pieces.boxed()
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(start)?;
    let (found, _) = rest.split_once(end)?;
    // The code ends up in the log, so it has to look like one.
    let is_code = found.len() <= 60 && found.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_code.then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_error_is_temporary_and_shows_its_code() {
        let body = "<?xml version=\"1.0\"?><Error><Code>SlowDown</Code><Message>Please</Message></Error>";
        let slow = BucketError::from_response("PUT", StatusCode::SERVICE_UNAVAILABLE, body);
        assert_eq!(slow.to_string(), "S3 responded 503 SlowDown to PUT");
        assert!(slow.is_temporary());
        let refused = BucketError::from_response("GET", StatusCode::FORBIDDEN, "<Error><Code>\n\n</Code>");
        assert_eq!(refused.to_string(), "S3 responded 403 without a code to GET");
        assert!(!refused.is_temporary());
    }
}
