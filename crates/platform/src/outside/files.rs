//! Files under the hash of their content: documents people upload, invoices and exports the service makes.
//!
//! What is stored never changes, and the same content is stored once. A file is in the store for good before its
//! hash is handed out, so a row that names a hash can always be served. Who may read which file, and under what
//! name, is the business of the rows that refer to it.
//!
//! The store is a local folder, or a bucket that speaks S3; nobody outside can tell which. A body arrives in a local
//! folder either way.

mod bucket;
mod folder;
mod incoming;
mod s3;

use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{error, fmt, fs, io};

use bytes::Bytes;
use data_encoding::HEXLOWER;
use futures_util::Stream;
use futures_util::stream::BoxStream;

use crate::entropy::Entropy;
use bucket::Bucket;
use folder::Folder;
pub use incoming::pieces;
use incoming::{Arrived, Incoming};
pub use s3::{Addressing, BucketError, BucketSettings};
use values::{Invalid, Stored, Time};

/// SHA-256 of a file's content, by which it is found again; 64 lowercase hex digits as text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    pub const fn new(bytes: [u8; 32]) -> ContentHash {
        ContentHash(bytes)
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

/// What is in the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoredFile {
    pub hash: ContentHash,
    pub size_bytes: u64,
}

/// A file's bytes, read as they are asked for.
pub type Content = BoxStream<'static, io::Result<Bytes>>;

#[derive(Debug)]
pub enum FilesError {
    TooLarge {
        limit_bytes: u64,
    },
    /// The content broke off before its end.
    BrokenOff(Box<dyn error::Error + Send + Sync>),
    Disk(io::Error),
    Bucket(BucketError),
}

impl fmt::Display for FilesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FilesError::TooLarge { limit_bytes } => write!(f, "the file is larger than {limit_bytes} bytes"),
            FilesError::BrokenOff(reason) => write!(f, "the file broke off: {reason}"),
            FilesError::Disk(error) => write!(f, "the file store failed: {error}"),
            FilesError::Bucket(error) => write!(f, "the file store failed: {error}"),
        }
    }
}

impl error::Error for FilesError {}

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
}

#[derive(Clone)]
enum Store {
    Folder(Folder),
    Bucket(Bucket),
}

impl Files {
    /// Opens the store in a local folder, making it if need be and sweeping up what a crash left behind.
    pub fn in_folder(folder: &Path, entropy: Entropy, now: Time) -> Result<Files, FilesError> {
        let incoming = incoming(folder, entropy, now)?;
        Ok(Files { incoming, store: Store::Folder(Folder::open(folder)) })
    }

    /// Opens the store in a bucket, unless it cannot be used. Bodies still arrive in the local folder.
    pub async fn in_bucket(
        settings: &BucketSettings,
        http: reqwest::Client,
        folder: &Path,
        entropy: Entropy,
        now: Time,
    ) -> Result<Files, FilesError> {
        let incoming = incoming(folder, entropy, now)?;
        let bucket = Bucket::open(settings, http, entropy).await?;
        Ok(Files { incoming, store: Store::Bucket(bucket) })
    }

    /// Takes a body in as it arrives, never more of it in memory than one piece. Nothing is stored yet.
    pub async fn receive<S, E>(&self, body: S, limit_bytes: u64) -> Result<Received, FilesError>
    where
        S: Stream<Item = Result<Bytes, E>>,
        E: Into<Box<dyn error::Error + Send + Sync>>,
    {
        let arrived = self.incoming.receive(body, limit_bytes).await?;
        Ok(Received { arrived, store: self.store.clone() })
    }

    /// Stores a body.
    pub async fn put<S, E>(&self, body: S, limit_bytes: u64) -> Result<StoredFile, FilesError>
    where
        S: Stream<Item = Result<Bytes, E>>,
        E: Into<Box<dyn error::Error + Send + Sync>>,
    {
        self.receive(body, limit_bytes).await?.keep().await
    }

    /// The size and content of a file, or `None` when there is none of this hash.
    pub async fn open_read(&self, hash: &ContentHash) -> Result<Option<(u64, Content)>, FilesError> {
        match &self.store {
            Store::Folder(folder) => Ok(folder.open_read(hash).await?),
            Store::Bucket(bucket) => Ok(bucket.open_read(hash).await?),
        }
    }

    pub async fn exists(&self, hash: &ContentHash) -> Result<bool, FilesError> {
        match &self.store {
            Store::Folder(folder) => Ok(folder.exists(hash).await?),
            Store::Bucket(bucket) => Ok(bucket.exists(hash).await?),
        }
    }

    /// Files that nobody has stored since `cutoff`, in the order of their hashes and at most `limit` of them.
    pub async fn untouched_since(
        &self,
        cutoff: Time,
        after: Option<ContentHash>,
        limit: usize,
    ) -> Result<Vec<ContentHash>, FilesError> {
        match &self.store {
            Store::Folder(folder) => Ok(folder.untouched_since(cutoff, after, limit).await?),
            Store::Bucket(bucket) => Ok(bucket.untouched_since(cutoff, after, limit).await?),
        }
    }

    /// Removes a file unless somebody stored it (again) since `cutoff`, and answers whether it did.
    pub async fn remove_untouched(&self, hash: &ContentHash, cutoff: Time) -> Result<bool, FilesError> {
        match &self.store {
            Store::Folder(folder) => Ok(folder.remove_untouched(hash, cutoff).await?),
            Store::Bucket(bucket) => Ok(bucket.remove_untouched(hash, cutoff).await?),
        }
    }
}

/// A body that has arrived whole. Dropped before it is kept, it leaves nothing behind.
pub struct Received {
    arrived: Arrived,
    store: Store,
}

impl Received {
    pub fn stored_as(&self) -> StoredFile {
        self.arrived.stored
    }

    /// What arrived, to be looked at before it is kept.
    pub async fn content(&self) -> Result<Content, FilesError> {
        Ok(incoming::pieces(self.arrived.open().await?))
    }

    /// Puts it into the store for good.
    pub async fn keep(self) -> Result<StoredFile, FilesError> {
        match self.store {
            Store::Folder(folder) => Ok(folder.keep(self.arrived).await?),
            Store::Bucket(bucket) => bucket.keep(self.arrived).await,
        }
    }
}

fn incoming(folder: &Path, entropy: Entropy, now: Time) -> io::Result<Incoming> {
    Incoming::open(&folder.join("incoming"), entropy, now)
}

/// Whether there is such a file, last written before then.
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
