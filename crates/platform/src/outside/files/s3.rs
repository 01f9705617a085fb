//! A bucket over the wire: signed requests, each bounded in time, and repeated when that can help.
//!
//! What goes wrong is told with S3's own word for it (`NoSuchBucket`, `SignatureDoesNotMatch`). A signed address is
//! as good as the key for a while, so it is in no error; the key itself is in no `Debug` either.

use std::time::Duration;
use std::{error, fmt};

use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use reqwest::header::CONTENT_LENGTH;
use reqwest::{Body, Response, StatusCode};
use rusty_s3::actions::ListObjectsV2;
use rusty_s3::{Bucket as Address, Credentials, Method, S3Action, UrlStyle};
use tokio::time::timeout;

use super::incoming::Arrived;
use super::{Content, FilesError};
use crate::clock::Clock;
use values::Time;

/// How long a signature holds; the clocks of both sides may differ by nearly as much.
const SIGNED_FOR: Duration = Duration::from_secs(5 * 60);
/// For a small request, and for the next piece of a large answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// For a body, and as many seconds more as it has MiB.
const PUT_TIMEOUT: Duration = Duration::from_secs(120);
const ATTEMPTS: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// A page of a thousand names stays far below this.
const TEXT_LIMIT_BYTES: usize = 4 * 1024 * 1024;
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

/// Where a request names its bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Addressing {
    /// `https://endpoint/bucket/…`
    Path,
    /// `https://bucket.endpoint/…`
    Host,
}

/// Why a bucket did not do what it was asked.
#[derive(Debug)]
pub struct BucketError {
    reason: String,
    /// S3's word for it, if it answered.
    code: Option<String>,
    passing: bool,
}

impl BucketError {
    pub fn passing(reason: impl Into<String>) -> BucketError {
        BucketError { reason: reason.into(), code: None, passing: true }
    }

    pub fn lasting(reason: impl Into<String>) -> BucketError {
        BucketError { reason: reason.into(), code: None, passing: false }
    }

    /// Whether the same may succeed later.
    pub fn is_passing(&self) -> bool {
        self.passing
    }

    /// The same, with what it was about in front.
    pub fn about(self, subject: &str) -> BucketError {
        BucketError { reason: format!("{subject}: {}", self.reason), ..self }
    }

    fn unreachable(error: reqwest::Error) -> BucketError {
        let error = error.without_url();
        let mut reason = format!("S3 cannot be reached: {error}");
        let mut cause = error::Error::source(&error);
        while let Some(deeper) = cause {
            reason.push_str(&format!(": {deeper}"));
            cause = deeper.source();
        }
        BucketError::passing(reason)
    }

    fn answered(method: &str, status: StatusCode, body: &str) -> BucketError {
        let code = between(body, "<Code>", "</Code>").map(str::to_owned);
        let reason =
            format!("S3 answered {} {} to {method}", status.as_u16(), code.as_deref().unwrap_or("without a code"));
        // S3 calls it a bad request when a body does not come fast enough.
        let is_late = code.as_deref() == Some("RequestTimeout");
        let passing = is_late || status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
        BucketError { reason, code, passing }
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

/// Objects in the order of their keys.
pub struct Page {
    pub objects: Vec<Object>,
    pub is_last: bool,
}

pub struct S3 {
    address: Address,
    credentials: Credentials,
    http: reqwest::Client,
    /// S3 looks at the true time, whatever a test makes of the service's.
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
            .map_err(|_| BucketError::lasting("endpoint and bucket make no address"))?;
        let credentials = Credentials::new(&*settings.key_id, &*settings.secret);
        Ok(S3 { address, credentials, http, clock: Clock::system() })
    }

    /// Stores a body under a key; S3 compares what it got with the hash.
    pub async fn put(&self, key: &str, arrived: &Arrived) -> Result<(), FilesError> {
        let checksum = data_encoding::BASE64.encode(arrived.stored.hash.bytes());
        let mut action = self.address.put_object(Some(&self.credentials), key);
        action.headers_mut().insert(CHECKSUM, &*checksum);
        let length = arrived.stored.size_bytes.to_string();
        let headers = [(CONTENT_LENGTH.as_str(), length), (CHECKSUM, checksum.clone())];
        let limit = PUT_TIMEOUT + Duration::from_secs(arrived.stored.size_bytes >> 20);
        let mut attempt = 1;
        loop {
            let body = Body::from(arrived.open().await?);
            match self.try_once(&action, &headers, body, limit).await {
                Ok(_) => return Ok(()),
                Err(error) => pause_or_give_up(error, attempt).await?,
            }
            attempt += 1;
        }
    }

    /// An object without content.
    pub async fn put_mark(&self, key: &str) -> Result<(), BucketError> {
        let action = self.address.put_object(Some(&self.credentials), key);
        self.send(&action, &[(CONTENT_LENGTH.as_str(), "0".to_owned())]).await.map(drop)
    }

    /// The size and content of an object, if there is one.
    pub async fn get(&self, key: &str) -> Result<Option<(u64, Content)>, BucketError> {
        let action = self.address.get_object(Some(&self.credentials), key);
        let answer = match self.send(&action, &[]).await {
            Ok(answer) => answer,
            Err(error) if error.code.as_deref() == Some("NoSuchKey") => return Ok(None),
            Err(error) => return Err(error),
        };
        let size_bytes = answer.content_length().ok_or_else(|| BucketError::lasting("S3 tells no length"))?;
        Ok(Some((size_bytes, pieces(answer))))
    }

    /// Sent once: a repeated request whose first copy is still on its way could remove what was stored in between.
    pub async fn delete_once(&self, key: &str) -> Result<(), BucketError> {
        let action = self.address.delete_object(Some(&self.credentials), key);
        self.try_once(&action, &[], Body::default(), ANSWER_TIMEOUT).await.map(drop)
    }

    /// The objects whose keys begin so and come after this one.
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
        let unreadable = || BucketError::lasting("S3's list of objects cannot be read");
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
            match self.try_once(action, headers, Body::default(), ANSWER_TIMEOUT).await {
                Ok(answer) => return Ok(answer),
                Err(error) => pause_or_give_up(error, attempt).await?,
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
        let now = now.map_err(|_| BucketError::lasting("the system's clock is off"))?;
        let method = match A::METHOD {
            Method::Head => reqwest::Method::HEAD,
            Method::Get => reqwest::Method::GET,
            Method::Post => reqwest::Method::POST,
            Method::Put => reqwest::Method::PUT,
            Method::Delete => reqwest::Method::DELETE,
        };
        let request = self.http.request(method, action.sign_with_time(SIGNED_FOR, &now)).body(body);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
        let late = |_| BucketError::passing(format!("S3 did not answer within {} s", within.as_secs()));
        let answer = timeout(within, request.send()).await.map_err(late)?.map_err(BucketError::unreachable)?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let status = answer.status();
        let body = text(answer).await.unwrap_or_default();
        Err(BucketError::answered(A::METHOD.to_str(), status, &body))
    }
}

async fn pause_or_give_up(error: BucketError, attempt: u32) -> Result<(), BucketError> {
    if !error.passing || attempt >= ATTEMPTS {
        return Err(error);
    }
    tracing::warn!(%error, attempt, "trying S3 again");
    tokio::time::sleep(FIRST_PAUSE * 4u32.saturating_pow(attempt - 1)).await;
    Ok(())
}

/// The whole of a short answer.
async fn text(mut answer: Response) -> Result<String, BucketError> {
    let mut text = Vec::new();
    while let Some(piece) = next_piece(&mut answer).await? {
        text.extend_from_slice(&piece);
        if text.len() > TEXT_LIMIT_BYTES {
            return Err(BucketError::lasting("S3's answer is too long"));
        }
    }
    String::from_utf8(text).map_err(|_| BucketError::lasting("S3's answer is no text"))
}

async fn next_piece(answer: &mut Response) -> Result<Option<bytes::Bytes>, BucketError> {
    let late = |_| BucketError::passing("S3 fell silent amid its answer");
    timeout(ANSWER_TIMEOUT, answer.chunk()).await.map_err(late)?.map_err(BucketError::unreachable)
}

fn pieces(answer: Response) -> Content {
    let pieces = stream::try_unfold(answer, async |mut answer| {
        let piece = next_piece(&mut answer).await.map_err(std::io::Error::other)?;
        Ok(piece.map(|piece| (piece, answer)))
    });
    pieces.boxed()
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(start)?;
    let (found, _) = rest.split_once(end)?;
    // The word of another server ends up in the log; it has to look like one.
    let is_word = found.len() <= 60 && found.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_word.then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_told_by_its_code_and_passes_if_the_server_failed() {
        let body = "<?xml version=\"1.0\"?><Error><Code>SlowDown</Code><Message>Please</Message></Error>";
        let slow = BucketError::answered("PUT", StatusCode::SERVICE_UNAVAILABLE, body);
        assert_eq!(slow.to_string(), "S3 answered 503 SlowDown to PUT");
        assert!(slow.is_passing());
        let refused = BucketError::answered("GET", StatusCode::FORBIDDEN, "<Error><Code>\n\n</Code>");
        assert_eq!(refused.to_string(), "S3 answered 403 without a code to GET");
        assert!(!refused.is_passing());
    }
}
