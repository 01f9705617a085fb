//! The store in a bucket: each file is an object named by its hash.
//!
//! Storing a file again writes its object anew, so its age is that of its last storing. A bucket has no locks, hence
//! removing and storing the same content at once keep out of each other's way by marks. Who removes leaves a mark
//! first, looks at the object's age then, and takes the mark away last. Who stores looks for marks afterwards, and
//! then whether the object is still there. Either the one sees the fresh object, or the other the mark or the gap,
//! and stores once more. A mark that a crash left behind counts for nothing after an hour.

use std::sync::Arc;
use std::time::Duration;

use data_encoding::HEXLOWER;

use super::incoming::Arrived;
use super::s3::{BucketError, BucketSettings, Object, S3};
use super::{Content, ContentHash, FilesError, StoredFile};
use crate::clock::Clock;
use crate::entropy::Entropy;
use values::Time;

const PAGE: usize = 1000;
/// Far longer than any request is on its way, and than the clocks of both sides may differ.
const MARK_COUNTS_FOR: Duration = Duration::from_secs(60 * 60);
const STORING_ATTEMPTS: u32 = 6;
const STORING_PAUSE: Duration = Duration::from_millis(250);

#[derive(Clone)]
pub struct Bucket {
    s3: Arc<S3>,
    entropy: Entropy,
}

impl Bucket {
    /// Fails when the bucket is not there or does not let us in.
    pub async fn open(
        settings: &BucketSettings,
        http: reqwest::Client,
        entropy: Entropy,
    ) -> Result<Bucket, BucketError> {
        let subject = || format!("the bucket {} at {} cannot be used", settings.bucket, settings.endpoint);
        let s3 = S3::new(settings, http).map_err(|error| error.about(&subject()))?;
        s3.list("", "", 1).await.map_err(|error| error.about(&subject()))?;
        Ok(Bucket { s3: Arc::new(s3), entropy })
    }

    pub async fn keep(&self, arrived: Arrived) -> Result<StoredFile, FilesError> {
        let stored = arrived.stored;
        for _ in 0..STORING_ATTEMPTS {
            self.s3.put(&stored.hash.to_string(), &arrived).await?;
            if !self.is_being_removed(&stored.hash).await? && self.exists(&stored.hash).await? {
                return Ok(stored);
            }
            tokio::time::sleep(STORING_PAUSE).await;
        }
        Err(BucketError::passing("an older copy of this file is being removed").into())
    }

    pub async fn open_read(&self, hash: &ContentHash) -> Result<Option<(u64, Content)>, BucketError> {
        self.s3.get(&hash.to_string()).await
    }

    pub async fn exists(&self, hash: &ContentHash) -> Result<bool, BucketError> {
        Ok(self.find(hash).await?.is_some())
    }

    pub async fn untouched_since(
        &self,
        cutoff: Time,
        after: Option<ContentHash>,
        limit: usize,
    ) -> Result<Vec<ContentHash>, BucketError> {
        let mut after = after.map(|hash| hash.to_string()).unwrap_or_default();
        let mut found = Vec::new();
        loop {
            let page = self.s3.list("", &after, PAGE).await?;
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

    pub async fn remove_untouched(&self, hash: &ContentHash, cutoff: Time) -> Result<bool, BucketError> {
        let mark = format!("{}{}", marks(hash), HEXLOWER.encode(&self.entropy.bytes::<16>()));
        self.s3.put_mark(&mark).await?;
        let untouched = self.find(hash).await?.is_some_and(|object| object.stored_at < cutoff);
        if untouched {
            // On an error the mark stays: the object may yet go.
            self.s3.delete_once(&hash.to_string()).await?;
        }
        self.s3.delete_once(&mark).await?;
        Ok(untouched)
    }

    async fn find(&self, hash: &ContentHash) -> Result<Option<Object>, BucketError> {
        let key = hash.to_string();
        let page = self.s3.list(&key, "", 1).await?;
        Ok(page.objects.into_iter().find(|object| object.key == key))
    }

    async fn is_being_removed(&self, hash: &ContentHash) -> Result<bool, BucketError> {
        let page = self.s3.list(&marks(hash), "", PAGE).await?;
        let cutoff = Clock::system().now().minus(MARK_COUNTS_FOR);
        Ok(page.objects.iter().any(|mark| mark.stored_at > cutoff))
    }
}

/// What the keys of a file's marks begin with; they come after every hash.
fn marks(hash: &ContentHash) -> String {
    format!("removing/{hash}/")
}
