//! Receives bodies into sealed drafts in a local folder, until they are stored.
//!
//! A dropped draft is deleted immediately; one that a crash left is deleted at a later start.

use std::io;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use std::{error, fs};

use bytes::{Bytes, BytesMut};
use data_encoding::HEXLOWER;
use futures_util::{Stream, StreamExt, stream};
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::seal::{Sealer, unseal};
use super::{Content, FilesError, StoredFile, blocking, is_older};
use crate::crypto::keys::Keys;
use crate::durable::{Draft, create_folder};
use db::Entropy;
use values::Time;

/// No upload takes this long, on this node or another that shares the folder.
const ABANDONED_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
const CHUNK_BYTES: usize = 64 * 1024;

#[derive(Clone)]
pub struct Incoming {
    folder: Arc<Path>,
    keys: Keys,
}

impl Incoming {
    pub fn open(folder: &Path, keys: Keys, now: Time) -> io::Result<Incoming> {
        create_folder(folder)?;
        delete_abandoned(folder, now)?;
        Ok(Incoming { folder: folder.into(), keys })
    }

    pub async fn receive<S, E>(&self, body: S, limit_bytes: u64) -> Result<ReceivedBody, FilesError>
    where
        S: Stream<Item = Result<Bytes, E>>,
        E: Into<Box<dyn error::Error + Send + Sync>>,
    {
        let path = self.folder.join(HEXLOWER.encode(&Entropy.bytes::<16>()));
        let (draft, file) = blocking(move || Draft::create(path)).await?;
        let mut file = File::from_std(file);

        let mut sealer = Sealer::new(&self.keys)?;
        let (mut size_bytes, mut sealed_bytes) = (0u64, 0u64);
        let mut body = pin!(body);
        while let Some(piece) = body.next().await {
            let piece = piece.map_err(|error| FilesError::Incomplete(error.into()))?;
            size_bytes = size_bytes.saturating_add(piece.len() as u64);
            if size_bytes > limit_bytes {
                return Err(FilesError::TooLarge { limit_bytes });
            }
            let sealed = sealer.push(&piece)?;
            sealed_bytes += sealed.len() as u64;
            file.write_all(&sealed).await?;
        }
        let (rest, hash, sealed_hash) = sealer.finish()?;
        file.write_all(&rest).await?;
        file.flush().await?;

        let stored = StoredFile { hash, size_bytes };
        let sealed = SealedFile { sha256: sealed_hash, size_bytes: sealed_bytes + rest.len() as u64 };
        Ok(ReceivedBody { draft, file: file.into_std().await, stored, sealed, keys: self.keys.clone() })
    }
}

/// The bytes of a draft.
#[derive(Clone, Copy)]
pub struct SealedFile {
    pub sha256: [u8; 32],
    pub size_bytes: u64,
}

/// A complete draft, sealed, with the hash and size of its content.
pub struct ReceivedBody {
    pub draft: Draft,
    pub file: fs::File,
    pub stored: StoredFile,
    pub sealed: SealedFile,
    keys: Keys,
}

impl ReceivedBody {
    /// The draft as it is written, sealed.
    pub async fn open(&self) -> io::Result<File> {
        File::open(self.draft.path()).await
    }

    pub async fn content(&self) -> io::Result<Content> {
        let sealed = pieces(self.open().await?);
        Ok(unseal(&self.keys, &self.stored.hash, self.sealed.size_bytes, sealed).await?.1)
    }
}

/// Streams a local file.
pub fn pieces(file: File) -> Content {
    let pieces = stream::try_unfold(file, async |mut file| {
        let mut piece = BytesMut::with_capacity(CHUNK_BYTES);
        let read = file.read_buf(&mut piece).await?;
        Ok((read > 0).then(|| (piece.freeze(), file)))
    });
    pieces.boxed()
}

fn delete_abandoned(folder: &Path, now: Time) -> io::Result<()> {
    let cutoff = now.minus(ABANDONED_AFTER);
    for draft in fs::read_dir(folder)? {
        let path = draft?.path();
        if is_older(&path, cutoff)? {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}
