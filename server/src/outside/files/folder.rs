//! The store in a local folder: `ab/cd/<hash>`, with `incoming/` for what is still being written.
//!
//! Storing a file again puts a fresh copy in its place, so its age is that of its last storing. Removing one locks
//! the folder while it looks at that age: nobody, not even another node that shares the folder, stores it in between.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::digest::{Context, SHA256};
use bytes::{Bytes, BytesMut};
use data_encoding::HEXLOWER;
use futures_util::{Stream, StreamExt, stream};
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{Content, ContentHash, FilesError, StoredFile};
use crate::entropy::Entropy;
use crate::outside::durable::{Draft, make_folder, sync_folder};
use crate::values::Time;

const INCOMING: &str = "incoming";
/// A draft this old belongs to no upload under way, on this node or another that shares the folder.
const ABANDONED_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
const READ_BYTES: usize = 64 * 1024;

#[derive(Clone)]
pub struct Folder {
    root: Arc<Path>,
    entropy: Entropy,
}

impl Folder {
    pub fn open(root: &Path, entropy: Entropy, now: Time) -> io::Result<Folder> {
        let incoming = root.join(INCOMING);
        make_folder(&incoming)?;
        sweep(&incoming, now)?;
        Ok(Folder { root: root.into(), entropy })
    }

    pub async fn receive<S, E>(&self, body: S, limit_bytes: u64) -> Result<Arrived, FilesError>
    where
        S: Stream<Item = Result<Bytes, E>>,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let name = HEXLOWER.encode(&self.entropy.bytes::<16>());
        let path = self.root.join(INCOMING).join(name);
        let (draft, file) = blocking(move || Draft::create(path)).await?;
        let mut file = File::from_std(file);

        let mut hashing = Context::new(&SHA256);
        let mut size_bytes = 0u64;
        let mut body = pin!(body);
        while let Some(piece) = body.next().await {
            let piece = piece.map_err(|error| FilesError::BrokenOff(error.into()))?;
            size_bytes = size_bytes.saturating_add(piece.len() as u64);
            if size_bytes > limit_bytes {
                return Err(FilesError::TooLarge { limit_bytes });
            }
            hashing.update(&piece);
            file.write_all(&piece).await?;
        }
        file.flush().await?;

        let mut hash = [0; 32];
        hash.copy_from_slice(hashing.finish().as_ref());
        let stored = StoredFile { hash: ContentHash::new(hash), size_bytes };
        Ok(Arrived { root: self.root.clone(), draft, file: file.into_std().await, stored })
    }

    pub async fn open_read(&self, hash: &ContentHash) -> io::Result<Option<(u64, Content)>> {
        let file = match File::open(place(&self.root, hash)).await {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some((file.metadata().await?.len(), pieces(file))))
    }

    pub async fn exists(&self, hash: &ContentHash) -> io::Result<bool> {
        tokio::fs::try_exists(place(&self.root, hash)).await
    }

    pub async fn untouched_since(
        &self,
        cutoff: Time,
        after: Option<ContentHash>,
        limit: usize,
    ) -> io::Result<Vec<ContentHash>> {
        let root = self.root.clone();
        blocking(move || untouched_since(&root, cutoff, after, limit)).await
    }

    pub async fn remove_untouched(&self, hash: &ContentHash, cutoff: Time) -> io::Result<bool> {
        let (root, place) = (self.root.clone(), place(&self.root, hash));
        blocking(move || {
            let lock = fs::File::open(&root)?;
            lock.lock()?;
            let untouched = is_older(&place, cutoff)?;
            if untouched {
                fs::remove_file(&place)?;
            }
            Ok(untouched)
        })
        .await
    }
}

/// A draft that is complete.
pub struct Arrived {
    root: Arc<Path>,
    draft: Draft,
    file: fs::File,
    stored: StoredFile,
}

impl Arrived {
    pub fn stored_as(&self) -> StoredFile {
        self.stored
    }

    pub async fn content(&self) -> io::Result<Content> {
        Ok(pieces(File::open(self.draft.path()).await?))
    }

    pub async fn keep(self) -> io::Result<StoredFile> {
        let Arrived { root, draft, file, stored } = self;
        blocking(move || settle(&root, draft, &file, &stored.hash)).await?;
        Ok(stored)
    }
}

fn pieces(file: File) -> Content {
    let pieces = stream::try_unfold(file, async |mut file| {
        let mut piece = BytesMut::with_capacity(READ_BYTES);
        let read = file.read_buf(&mut piece).await?;
        Ok((read > 0).then(|| (piece.freeze(), file)))
    });
    pieces.boxed()
}

/// Two levels of folders keep any one of them short.
fn place(root: &Path, hash: &ContentHash) -> PathBuf {
    let hex = hash.to_string();
    root.join(&hex[..2]).join(&hex[2..4]).join(hex)
}

/// Every folder on the way is synced each time: another upload may have made it a moment ago and not be done.
fn settle(root: &Path, draft: Draft, file: &fs::File, hash: &ContentHash) -> io::Result<()> {
    let place = place(root, hash);
    let folders: Vec<&Path> = place.ancestors().skip(1).take(3).collect();
    make_folder(folders[0])?;
    let lock = fs::File::open(root)?;
    lock.lock_shared()?;
    draft.settle(file, &place)?;
    folders.into_iter().try_for_each(sync_folder)
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

/// Walks the two levels of folders in order and holds no more names at once than one folder has.
fn untouched_since(
    root: &Path,
    cutoff: Time,
    after: Option<ContentHash>,
    limit: usize,
) -> io::Result<Vec<ContentHash>> {
    let after = after.map(|hash| hash.to_string()).unwrap_or_default();
    let (first, second) = (after.get(..2).unwrap_or_default(), after.get(2..4).unwrap_or_default());
    let mut found = Vec::new();
    for outer in names(root, 2)?.into_iter().filter(|outer| outer.as_str() >= first) {
        let resumes = outer == first;
        for inner in names(&root.join(&outer), 2)?.into_iter().filter(|inner| !resumes || inner.as_str() >= second) {
            let folder = root.join(&outer).join(&inner);
            for name in names(&folder, 64)?.into_iter().filter(|name| *name > after) {
                if let Some(hash) = ContentHash::parse(&name).filter(|_| found.len() < limit)
                    && is_older(&folder.join(&name), cutoff)?
                {
                    found.push(hash);
                }
            }
            if found.len() >= limit {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

/// The names of this length in a folder, in order.
fn names(folder: &Path, length: usize) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.extend(entry?.file_name().into_string().ok().filter(|name| name.len() == length));
    }
    names.sort_unstable();
    Ok(names)
}

fn sweep(incoming: &Path, now: Time) -> io::Result<()> {
    let cutoff = now.minus(ABANDONED_AFTER);
    for draft in fs::read_dir(incoming)? {
        let path = draft?.path();
        if is_older(&path, cutoff)? {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}
