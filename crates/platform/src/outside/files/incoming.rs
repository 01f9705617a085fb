//! Where a body waits until it is whole and somebody decided to keep it: one draft each in a local folder.
//!
//! A draft that is dropped is removed at once; one that a crash left behind is swept up at a later start.

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
use crate::entropy::Entropy;
use crate::outside::durable::{Draft, make_folder};
use values::Time;

/// A draft this old belongs to no upload under way, on this node or another that shares the folder.
const ABANDONED_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
const READ_BYTES: usize = 64 * 1024;

#[derive(Clone)]
pub struct Incoming {
    folder: Arc<Path>,
    entropy: Entropy,
}

impl Incoming {
    pub fn open(folder: &Path, entropy: Entropy, now: Time) -> io::Result<Incoming> {
        make_folder(folder)?;
        sweep(folder, now)?;
        Ok(Incoming { folder: folder.into(), entropy })
    }

    pub async fn receive<S, E>(&self, body: S, limit_bytes: u64) -> Result<Arrived, FilesError>
    where
        S: Stream<Item = Result<Bytes, E>>,
        E: Into<Box<dyn error::Error + Send + Sync>>,
    {
        let path = self.folder.join(HEXLOWER.encode(&self.entropy.bytes::<16>()));
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
        Ok(Arrived { draft, file: file.into_std().await, stored })
    }
}

/// A draft that is complete.
pub struct Arrived {
    pub draft: Draft,
    pub file: fs::File,
    pub stored: StoredFile,
}

impl Arrived {
    pub async fn open(&self) -> io::Result<File> {
        File::open(self.draft.path()).await
    }
}

/// A local file, read as it is asked for.
pub fn pieces(file: File) -> Content {
    let pieces = stream::try_unfold(file, async |mut file| {
        let mut piece = BytesMut::with_capacity(READ_BYTES);
        let read = file.read_buf(&mut piece).await?;
        Ok((read > 0).then(|| (piece.freeze(), file)))
    });
    pieces.boxed()
}

fn sweep(folder: &Path, now: Time) -> io::Result<()> {
    let cutoff = now.minus(ABANDONED_AFTER);
    for draft in fs::read_dir(folder)? {
        let path = draft?.path();
        if is_older(&path, cutoff)? {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}
