//! The file store in an S3 bucket: each file is an object named by its hash.
//!
//! Storing a file again replaces its object, so its age counts from the last time it was stored. A bucket has no locks,
//! so deleting and storing the same content at the same time is coordinated by markers. The deleter writes a marker,
//! checks the object's age, deletes the object, and deletes the marker last. The writer writes the object, then looks
//! for markers and for the object. Either the deleter sees the new object, or the writer sees the marker or the missing
//! object and writes again. A marker that a crash left is ignored after an hour.

use std::sync::Arc;
use std::time::Duration;

use data_encoding::HEXLOWER;

use super::incoming::ReceivedBody;
use super::s3::{BucketError, BucketSettings, Object, S3};
use super::{Content, ContentHash, FilesError, StoredFile};
use db::{Clock, Entropy};
use values::Time;

const PAGE_SIZE: usize = 1000;
/// Much longer than any request takes and than clocks differ.
const MARKER_TTL: Duration = Duration::from_secs(60 * 60);
const STORE_ATTEMPTS: u32 = 6;
const STORE_PAUSE: Duration = Duration::from_millis(250);

#[derive(Clone)]
pub struct Bucket {
    s3: Arc<S3>,
}

impl Bucket {
    /// Fails if the bucket does not exist or denies access.
    pub async fn open(settings: &BucketSettings, http: reqwest::Client) -> Result<Bucket, BucketError> {
        let subject = || format!("the bucket {} at {} cannot be used", settings.bucket, settings.endpoint);
        let s3 = S3::new(settings, http).map_err(|error| error.about(&subject()))?;
        s3.list("", "", 1).await.map_err(|error| error.about(&subject()))?;
        Ok(Bucket { s3: Arc::new(s3) })
    }

    pub async fn store(&self, body: ReceivedBody) -> Result<StoredFile, FilesError> {
        let stored = body.stored;
        for _ in 0..STORE_ATTEMPTS {
            self.s3.put(&stored.hash.to_string(), &body).await?;
            if !self.is_being_deleted(&stored.hash).await? && self.exists(&stored.hash).await? {
                return Ok(stored);
            }
            tokio::time::sleep(STORE_PAUSE).await;
        }
        Err(BucketError::temporary("an older copy of this file is being deleted").into())
    }

    pub async fn open_read(&self, hash: &ContentHash) -> Result<Option<(u64, Content)>, BucketError> {
        self.s3.get(&hash.to_string()).await
    }

    pub async fn exists(&self, hash: &ContentHash) -> Result<bool, BucketError> {
        Ok(self.find(hash).await?.is_some())
    }

    pub async fn list_older(
        &self,
        cutoff: Time,
        after: Option<ContentHash>,
        limit: usize,
    ) -> Result<Vec<ContentHash>, BucketError> {
        let mut after = after.map(|hash| hash.to_string()).unwrap_or_default();
        let mut found = Vec::new();
        loop {
            let page = self.s3.list("", &after, PAGE_SIZE).await?;
            let old = page.objects.iter().filter(|object| object.stored_at < cutoff);
            found.extend(old.filter_map(|object| ContentHash::parse(&object.key)));
            match page.objects.last() {
                Some(last) if found.len() < limit && !page.is_last => after.clone_from(&last.key),
                _ => break,
            }
        }
        found.truncate(limit);
        Ok(found)
    }

    pub async fn delete_older(&self, hash: &ContentHash, cutoff: Time) -> Result<bool, BucketError> {
        let marker = format!("{}{}", marker_prefix(hash), HEXLOWER.encode(&Entropy.bytes::<16>()));
        self.s3.put_marker(&marker).await?;
        let is_old = self.find(hash).await?.is_some_and(|object| object.stored_at < cutoff);
        if is_old {
            // On an error the marker stays: S3 may still delete the object.
            self.s3.delete_once(&hash.to_string()).await?;
        }
        self.s3.delete_once(&marker).await?;
        Ok(is_old)
    }

    async fn find(&self, hash: &ContentHash) -> Result<Option<Object>, BucketError> {
        let key = hash.to_string();
        let page = self.s3.list(&key, "", 1).await?;
        Ok(page.objects.into_iter().find(|object| object.key == key))
    }

    async fn is_being_deleted(&self, hash: &ContentHash) -> Result<bool, BucketError> {
        let page = self.s3.list(&marker_prefix(hash), "", PAGE_SIZE).await?;
        let cutoff = Clock::system().now().minus(MARKER_TTL);
        Ok(page.objects.iter().any(|marker| marker.stored_at > cutoff))
    }
}

/// The prefix of a file's markers. It sorts after every hash.
fn marker_prefix(hash: &ContentHash) -> String {
    format!("removing/{hash}/")
}
