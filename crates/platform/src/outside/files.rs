//! The file store: uploads, invoices and exports, each stored under the SHA-256 of its content.
//!
//! A stored file never changes, and the same content is stored once. A file is durable before its hash is returned, so
//! a row that refers to a hash can always be served. Names and permissions belong to the rows that refer to a file.
//!
//! The store is a local folder or an S3 bucket. In both cases a body is received into a local folder first, and no byte
//! of it is written before it is sealed (`seal`).

mod bucket;
mod folder;
mod incoming;
mod s3;
mod seal;

use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{error, fmt, fs, io};

use aws_lc_rs::digest::{SHA256, digest};
use bucket::Bucket;
use bytes::Bytes;
use data_encoding::HEXLOWER;
use db::assert_no_connection_held;
use folder::Folder;
pub use folder::{Found, path_of as path_in_folder, walk as walk_folder};
use futures_util::Stream;
use futures_util::stream::BoxStream;
pub use incoming::pieces;
use incoming::{Incoming, ReceivedBody};
pub use s3::{Addressing, BucketError, BucketSettings};
use seal::{Standing, unseal};
use values::{Invalid, Stored, Time};

use crate::crypto::keys::Keys;
use crate::crypto::resealed::Resealed;
use crate::durable::is_full_disk;

/// Files that are listed at a time to be sealed again.
const RESEAL_PAGE: usize = 200;

/// SHA-256 of a file's content; as text, 64 lowercase hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    pub const fn new(bytes: [u8; 32]) -> ContentHash {
        ContentHash(bytes)
    }

    /// The hash of this content.
    pub fn of(content: &[u8]) -> ContentHash {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest(&SHA256, content).as_ref());
        ContentHash(hash)
    }

    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub fn parse(hex: &str) -> Option<ContentHash> {
        let bytes = HEXLOWER.decode(hex.as_bytes()).ok()?;
        Some(ContentHash(bytes.try_into().ok()?))
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentHash({self})")
    }
}

impl Stored for ContentHash {
    type Raw = Vec<u8>;

    fn to_raw(&self) -> Vec<u8> {
        self.0.to_vec()
    }

    fn from_raw(raw: Vec<u8>) -> Result<Self, Invalid> {
        raw.try_into().map(ContentHash).map_err(|_| Invalid::because("must be 32 bytes"))
    }
}

/// A file in the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoredFile {
    pub hash: ContentHash,
    pub size_bytes: u64,
}

/// A file's bytes as a stream.
pub type Content = BoxStream<'static, io::Result<Bytes>>;

#[derive(Debug)]
pub enum FilesError {
    TooLarge {
        limit_bytes: u64,
    },
    /// The body ended before it was complete.
    Incomplete(Box<dyn error::Error + Send + Sync>),
    Disk(io::Error),
    Bucket(BucketError),
}

impl fmt::Display for FilesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FilesError::TooLarge { limit_bytes } => write!(f, "the file is larger than {limit_bytes} bytes"),
            FilesError::Incomplete(reason) => write!(f, "the upload was interrupted: {reason}"),
            FilesError::Disk(error) => write!(f, "the file store failed: {error}"),
            FilesError::Bucket(error) => write!(f, "the file store failed: {error}"),
        }
    }
}

impl error::Error for FilesError {}

impl FilesError {
    pub fn is_disk_full(&self) -> bool {
        matches!(self, FilesError::Disk(error) if is_full_disk(error))
    }
}

impl From<io::Error> for FilesError {
    fn from(error: io::Error) -> Self {
        FilesError::Disk(error)
    }
}

impl From<BucketError> for FilesError {
    fn from(error: BucketError) -> Self {
        FilesError::Bucket(error)
    }
}

#[derive(Clone)]
pub struct Files {
    incoming: Incoming,
    store: Store,
    keys: Keys,
}

#[derive(Clone)]
enum Store {
    Folder(Folder),
    Bucket(Bucket),
}

impl Files {
    /// Opens the store in a local folder, creates the folder if needed, and deletes old drafts.
    pub fn in_folder(folder: &Path, keys: &Keys, now: Time) -> Result<Files, FilesError> {
        let incoming = incoming(folder, keys, now)?;
        Ok(Files { incoming, store: Store::Folder(Folder::open(folder)), keys: keys.clone() })
    }

    /// Opens the store in a bucket, after a check that it can be used. Bodies are still received in the local folder.
    pub async fn in_bucket(
        settings: &BucketSettings,
        http: reqwest::Client,
        folder: &Path,
        keys: &Keys,
        now: Time,
    ) -> Result<Files, FilesError> {
        let incoming = incoming(folder, keys, now)?;
        let bucket = Bucket::open(settings, http).await?;
        Ok(Files { incoming, store: Store::Bucket(bucket), keys: keys.clone() })
    }

    /// Receives a body chunk by chunk, without storing it yet.
    pub async fn receive<S, E>(&self, body: S, limit_bytes: u64) -> Result<Received, FilesError>
    where
        S: Stream<Item = Result<Bytes, E>>,
        E: Into<Box<dyn error::Error + Send + Sync>>,
    {
        assert_no_connection_held();
        let body = self.incoming.receive(body, limit_bytes).await?;
        Ok(Received { body, store: self.store.clone() })
    }

    /// Receives and stores a body.
    pub async fn put<S, E>(&self, body: S, limit_bytes: u64) -> Result<StoredFile, FilesError>
    where
        S: Stream<Item = Result<Bytes, E>>,
        E: Into<Box<dyn error::Error + Send + Sync>>,
    {
        self.receive(body, limit_bytes).await?.store().await
    }

    /// The size and content of a file, or `None` if there is no file with this hash.
    pub async fn open_read(&self, hash: &ContentHash) -> Result<Option<(u64, Content)>, FilesError> {
        let Some((size_bytes, stored)) = self.open_stored(hash).await? else { return Ok(None) };
        Ok(Some(unseal(&self.keys, hash, size_bytes, stored).await?))
    }

    /// The size and bytes of a file as it is stored, sealed.
    async fn open_stored(&self, hash: &ContentHash) -> Result<Option<(u64, Content)>, FilesError> {
        assert_no_connection_held();
        match &self.store {
            Store::Folder(folder) => Ok(folder.open_read(hash).await?),
            Store::Bucket(bucket) => Ok(bucket.open_read(hash).await?),
        }
    }

    /// Seals every file with the current master secret that is not yet sealed with it.
    pub async fn reseal(&self) -> Result<Resealed, FilesError> {
        let (mut total, mut after) = (Resealed::default(), None);
        loop {
            let page = self.list_older(Time::from_millis(i64::MAX), after, RESEAL_PAGE).await?;
            let Some(last) = page.last() else { return Ok(total) };
            after = Some(*last);
            for hash in page {
                total.checked += 1;
                match self.standing(&hash).await? {
                    Some(Standing::Outdated) => total.resealed += u64::from(self.store_again(&hash).await?),
                    Some(Standing::Unreadable) => total.unreadable += 1,
                    Some(Standing::Current) | None => {}
                }
            }
        }
    }

    async fn standing(&self, hash: &ContentHash) -> Result<Option<Standing>, FilesError> {
        let Some((_, stored)) = self.open_stored(hash).await? else { return Ok(None) };
        Ok(Some(seal::standing(&self.keys, stored).await?))
    }

    async fn store_again(&self, hash: &ContentHash) -> Result<bool, FilesError> {
        let Some((_, content)) = self.open_read(hash).await? else { return Ok(false) };
        self.put(content, u64::MAX).await?;
        Ok(true)
    }

    pub async fn exists(&self, hash: &ContentHash) -> Result<bool, FilesError> {
        assert_no_connection_held();
        match &self.store {
            Store::Folder(folder) => Ok(folder.exists(hash).await?),
            Store::Bucket(bucket) => Ok(bucket.exists(hash).await?),
        }
    }

    /// Lists up to `limit` files that were last stored before `cutoff`, by hash, starting after `after`.
    pub async fn list_older(
        &self,
        cutoff: Time,
        after: Option<ContentHash>,
        limit: usize,
    ) -> Result<Vec<ContentHash>, FilesError> {
        assert_no_connection_held();
        match &self.store {
            Store::Folder(folder) => Ok(folder.list_older(cutoff, after, limit).await?),
            Store::Bucket(bucket) => Ok(bucket.list_older(cutoff, after, limit).await?),
        }
    }

    /// Deletes a file if it was last stored before `cutoff`, and says whether it did.
    pub async fn delete_older(&self, hash: &ContentHash, cutoff: Time) -> Result<bool, FilesError> {
        assert_no_connection_held();
        match &self.store {
            Store::Folder(folder) => Ok(folder.delete_older(hash, cutoff).await?),
            Store::Bucket(bucket) => Ok(bucket.delete_older(hash, cutoff).await?),
        }
    }
}

/// A complete body that is not stored yet. Dropping it deletes it.
pub struct Received {
    body: ReceivedBody,
    store: Store,
}

impl Received {
    pub fn stored_as(&self) -> StoredFile {
        self.body.stored
    }

    /// The content, for inspection before it is stored.
    pub async fn content(&self) -> Result<Content, FilesError> {
        Ok(self.body.content().await?)
    }

    /// Stores it durably.
    pub async fn store(self) -> Result<StoredFile, FilesError> {
        assert_no_connection_held();
        match self.store {
            Store::Folder(folder) => Ok(folder.store(self.body).await?),
            Store::Bucket(bucket) => bucket.store(self.body).await,
        }
    }
}

fn incoming(folder: &Path, keys: &Keys, now: Time) -> io::Result<Incoming> {
    Incoming::open(&folder.join("incoming"), keys.clone(), now)
}

/// Whether the file exists and was last written before `cutoff`.
fn is_older(path: &Path, cutoff: Time) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(found) => Ok(found.is_file() && found.modified()? < system_time(cutoff)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn system_time(time: Time) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(time.millis().max(0).unsigned_abs())
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}
