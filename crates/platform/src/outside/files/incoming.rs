//! Receives bodies into drafts in a local folder, until they are stored.
//!
//! A dropped draft is deleted immediately; one that a crash left is deleted at a later start.

use std::io;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use std::{error, fs};

use aws_lc_rs::digest::{Context, SHA256};
use bytes::{Bytes, BytesMut};
use data_encoding::HEXLOWER;
use futures_util::{Stream, StreamExt, stream};
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{Content, ContentHash, FilesError, StoredFile, blocking, is_older};
use crate::durable::{Draft, create_folder};
use db::Entropy;
use values::Time;

/// No upload takes this long, on this node or another that shares the folder.
const ABANDONED_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
const CHUNK_BYTES: usize = 64 * 1024;

#[derive(Clone)]
pub struct Incoming {
    folder: Arc<Path>,
}

impl Incoming {
    pub fn open(folder: &Path, now: Time) -> io::Result<Incoming> {
        create_folder(folder)?;
        delete_abandoned(folder, now)?;
        Ok(Incoming { folder: folder.into() })
    }

    pub async fn receive<S, E>(&self, body: S, limit_bytes: u64) -> Result<ReceivedBody, FilesError>
    where
        S: Stream<Item = Result<Bytes, E>>,
        E: Into<Box<dyn error::Error + Send + Sync>>,
    {
        let path = self.folder.join(HEXLOWER.encode(&Entropy.bytes::<16>()));
        let (draft, file) = blocking(move || Draft::create(path)).await?;
        let mut file = File::from_std(file);

        let mut hashing = Context::new(&SHA256);
        let mut size_bytes = 0u64;
        let mut body = pin!(body);
        while let Some(piece) = body.next().await {
            let piece = piece.map_err(|error| FilesError::Incomplete(error.into()))?;
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
        Ok(ReceivedBody { draft, file: file.into_std().await, stored })
    }
}

/// A complete draft with its hash and size.
pub struct ReceivedBody {
    pub draft: Draft,
    pub file: fs::File,
    pub stored: StoredFile,
}

impl ReceivedBody {
    pub async fn open(&self) -> io::Result<File> {
        File::open(self.draft.path()).await
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
