//! Encryption of files at rest: every file has its own random key, which is sealed with a key of the master secret and
//! written in front of the content.
//!
//! The content is sealed in chunks with AES-256-GCM. The nonce of a chunk is its number, and the last one is marked, so
//! chunks cannot be reordered and a file cannot be cut short. The last chunk authenticates the content's hash too, so a
//! file does not open under another one's name. Files that were stored before this was so are read as they are; their
//! hash is checked.

use std::io;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::digest::{Context, SHA256};
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, TryStreamExt, stream};

use super::{Content, ContentHash};
use crate::crypto::keys::{Keys, Purpose, Reseal};
use db::Entropy;

const MAGIC: &[u8; 8] = b"\0TLFILE1";
/// Nonce, key and tag.
const SEALED_KEY_BYTES: usize = 12 + 32 + TAG_BYTES;
const HEADER_BYTES: usize = MAGIC.len() + SEALED_KEY_BYTES;
const TAG_BYTES: usize = 16;
const CHUNK_BYTES: usize = 64 * 1024;

struct FileKey(LessSafeKey);

impl FileKey {
    fn new(bytes: &[u8]) -> io::Result<FileKey> {
        let key = UnboundKey::new(&AES_256_GCM, bytes).map_err(|_| altered())?;
        Ok(FileKey(LessSafeKey::new(key)))
    }

    /// No nonce is used twice: the key is of one file, and each of its chunks has a number.
    fn nonce(number: u64, is_last: bool) -> Nonce {
        let mut nonce = [0; 12];
        nonce[0] = u8::from(is_last);
        nonce[4..].copy_from_slice(&number.to_be_bytes());
        Nonce::assume_unique_for_key(nonce)
    }
}

fn altered() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a stored file was altered, or sealed with another master secret")
}

/// Seals content piece by piece.
pub struct Sealer {
    key: FileKey,
    header: Vec<u8>,
    chunk: BytesMut,
    number: u64,
    content: Context,
    sealed: Context,
}

impl Sealer {
    pub fn new(keys: &Keys) -> io::Result<Sealer> {
        let key: [u8; 32] = Entropy.bytes();
        let header = [MAGIC.as_slice(), &keys.seal(Purpose::File, &key)].concat();
        Ok(Sealer {
            key: FileKey::new(&key)?,
            header,
            chunk: BytesMut::with_capacity(CHUNK_BYTES),
            number: 0,
            content: Context::new(&SHA256),
            sealed: Context::new(&SHA256),
        })
    }

    /// Takes content, and returns what can be written so far.
    pub fn push(&mut self, mut piece: &[u8]) -> io::Result<Vec<u8>> {
        self.content.update(piece);
        let mut out = std::mem::take(&mut self.header);
        while !piece.is_empty() {
            if self.chunk.len() == CHUNK_BYTES {
                self.seal_chunk(None, &mut out)?;
            }
            let (now, later) = piece.split_at(piece.len().min(CHUNK_BYTES - self.chunk.len()));
            self.chunk.extend_from_slice(now);
            piece = later;
        }
        self.sealed.update(&out);
        Ok(out)
    }

    /// The rest to write, the hash of the content and that of what was written.
    pub fn finish(mut self) -> io::Result<(Vec<u8>, ContentHash, [u8; 32])> {
        let hash = ContentHash::new(digest(self.content.clone()));
        let mut out = std::mem::take(&mut self.header);
        self.seal_chunk(Some(&hash), &mut out)?;
        self.sealed.update(&out);
        Ok((out, hash, digest(self.sealed)))
    }

    fn seal_chunk(&mut self, last: Option<&ContentHash>, out: &mut Vec<u8>) -> io::Result<()> {
        let nonce = FileKey::nonce(self.number, last.is_some());
        let name = last.map_or(&[][..], |hash| hash.bytes());
        let tag = self.key.0.seal_in_place_separate_tag(nonce, Aad::from(name), &mut self.chunk);
        out.extend_from_slice(&self.chunk);
        out.extend_from_slice(tag.map_err(io::Error::other)?.as_ref());
        self.chunk.clear();
        self.number += 1;
        Ok(())
    }
}

fn digest(context: Context) -> [u8; 32] {
    let mut digest = [0; 32];
    digest.copy_from_slice(context.finish().as_ref());
    digest
}

/// Whether a stored file has to be sealed again; one in clear text has to be sealed.
pub async fn standing(keys: &Keys, stored: Content) -> io::Result<Standing> {
    let mut source = Source { stored, buffer: BytesMut::new() };
    source.fill(HEADER_BYTES).await?;
    let Some(header) = source.buffer.get(..HEADER_BYTES).filter(|header| header.starts_with(MAGIC)) else {
        return Ok(Standing::Outdated);
    };
    Ok(match keys.reseal(Purpose::File, &header[MAGIC.len()..]) {
        Reseal::Current => Standing::Current,
        Reseal::Resealed(_) => Standing::Outdated,
        Reseal::Unreadable => Standing::Unreadable,
    })
}

/// How a stored file is sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Current,
    Outdated,
    Unreadable,
}

/// The size and the content of a stored file, of which the stored size and bytes are given.
pub async fn unseal(keys: &Keys, hash: &ContentHash, size_bytes: u64, stored: Content) -> io::Result<(u64, Content)> {
    let mut source = Source { stored, buffer: BytesMut::new() };
    source.fill(HEADER_BYTES).await?;
    if !source.buffer.starts_with(MAGIC) {
        return Ok((size_bytes, checked(*hash, source)));
    }
    if source.buffer.len() < HEADER_BYTES {
        return Err(altered());
    }
    let header = source.buffer.split_to(HEADER_BYTES);
    let key = keys.open(Purpose::File, &header[MAGIC.len()..]).ok_or_else(altered)?;
    let chunks_bytes = size_bytes.saturating_sub(HEADER_BYTES as u64);
    let chunks = chunks_bytes.div_ceil((CHUNK_BYTES + TAG_BYTES) as u64);
    let content_bytes =
        chunks_bytes.checked_sub(chunks * TAG_BYTES as u64).filter(|_| chunks > 0).ok_or_else(altered)?;
    let unsealer = Unsealer { key: FileKey::new(&key)?, source, number: 0, chunks, hash: *hash };
    let content = stream::try_unfold(unsealer, async |mut unsealer| {
        Ok(unsealer.next_chunk().await?.map(|chunk| (chunk, unsealer)))
    });
    Ok((content_bytes, content.boxed()))
}

struct Source {
    stored: Content,
    buffer: BytesMut,
}

impl Source {
    /// Reads until the buffer holds this many bytes, or all that are left.
    async fn fill(&mut self, bytes: usize) -> io::Result<()> {
        while self.buffer.len() < bytes {
            let Some(piece) = self.stored.try_next().await? else { break };
            self.buffer.extend_from_slice(&piece);
        }
        Ok(())
    }
}

struct Unsealer {
    key: FileKey,
    source: Source,
    number: u64,
    chunks: u64,
    hash: ContentHash,
}

impl Unsealer {
    async fn next_chunk(&mut self) -> io::Result<Option<Bytes>> {
        if self.number == self.chunks {
            return Ok(None);
        }
        self.source.fill(CHUNK_BYTES + TAG_BYTES).await?;
        let is_last = self.number + 1 == self.chunks;
        let length = self.source.buffer.len().min(CHUNK_BYTES + TAG_BYTES);
        let mut chunk = self.source.buffer.split_to(length);
        let name = if is_last { &self.hash.bytes()[..] } else { &[] };
        let nonce = FileKey::nonce(self.number, is_last);
        let plain = self.key.0.open_in_place(nonce, Aad::from(name), &mut chunk).map_err(|_| altered())?.len();
        chunk.truncate(plain);
        self.number += 1;
        Ok(Some(chunk.freeze()))
    }
}

/// Content that was stored unsealed. Its end is an error if it has another hash.
fn checked(hash: ContentHash, source: Source) -> Content {
    let pieces = stream::once(async { Ok(source.buffer.freeze()) }).chain(source.stored).boxed();
    let start = (pieces, Context::new(&SHA256), hash);
    let pieces = stream::try_unfold(start, async |(mut pieces, mut hashing, hash)| match pieces.try_next().await? {
        Some(piece) => {
            hashing.update(&piece);
            Ok(Some((piece, (pieces, hashing, hash))))
        }
        None if digest(hashing) == *hash.bytes() => Ok(None),
        None => Err(altered()),
    });
    pieces.boxed()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys() -> Keys {
        Keys::from_master(b"a master secret of thirty-two byt")
    }

    fn seal(pieces: &[&[u8]]) -> (Vec<u8>, ContentHash) {
        let mut sealer = Sealer::new(&keys()).unwrap();
        let mut sealed: Vec<u8> = pieces.iter().flat_map(|piece| sealer.push(piece).unwrap()).collect();
        let (rest, hash, digest_of_sealed) = sealer.finish().unwrap();
        sealed.extend(rest);
        assert_eq!(aws_lc_rs::digest::digest(&SHA256, &sealed).as_ref(), digest_of_sealed);
        (sealed, hash)
    }

    fn open(keys: &Keys, hash: &ContentHash, sealed: &[u8], step: usize) -> io::Result<(u64, Vec<u8>)> {
        let pieces: Vec<_> = sealed.chunks(step).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        futures_util::FutureExt::now_or_never(async {
            let (size, content) = unseal(keys, hash, sealed.len() as u64, stream::iter(pieces).boxed()).await?;
            let content: Vec<Bytes> = content.try_collect().await?;
            Ok((size, content.concat()))
        })
        .unwrap()
    }

    #[test]
    fn content_of_any_size_comes_back() {
        for size in [0, 1, 100, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES, 200_000] {
            let content: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
            let (sealed, hash) = seal(&content.chunks(7_001).collect::<Vec<_>>());
            assert_eq!(hash.bytes()[..], *aws_lc_rs::digest::digest(&SHA256, &content).as_ref());
            assert!(size < 8 || !sealed.windows(8).any(|window| window == &content[..8]), "{size} is in clear text");
            let (told, found) = open(&keys(), &hash, &sealed, 9_999).unwrap();
            assert_eq!((told, found == content), (size as u64, true), "{size}");
        }
    }

    #[test]
    fn another_name_or_master_secret_or_a_cut_is_refused() {
        let content = vec![7; 2 * CHUNK_BYTES];
        let (sealed, hash) = seal(&[&content]);
        let other_name = seal(&[b"other"]).1;
        assert!(open(&keys(), &other_name, &sealed, 4096).is_err());
        assert!(open(&Keys::from_master(b"another secret of thirty-two byte"), &hash, &sealed, 4096).is_err());
        for length in [HEADER_BYTES + CHUNK_BYTES + TAG_BYTES, sealed.len() - 1, HEADER_BYTES, 20] {
            assert!(open(&keys(), &hash, &sealed[..length], 4096).map(|(_, found)| found).is_err(), "{length}");
        }
    }

    #[test]
    fn a_file_stored_in_clear_text_is_read_if_its_hash_is_right() {
        let (_, hash) = seal(&[b"plain"]);
        assert_eq!(open(&keys(), &hash, b"plain", 2).unwrap(), (5, b"plain".to_vec()));
        assert!(open(&keys(), &hash, b"other", 2).is_err());
    }

    proptest! {
        #[test]
        fn a_changed_byte_is_noticed(at in 0usize..300, size in 0usize..200) {
            let content = vec![1; size];
            let (mut sealed, hash) = seal(&[&content]);
            let at = at % sealed.len();
            sealed[at] ^= 1;
            prop_assert!(open(&keys(), &hash, &sealed, 50).is_err());
        }
    }
}
