//! A stream that is sealed with a passphrase.
//!
//! It begins with a magic, a random salt, a tag that only the right passphrase makes, and a checksum of these, which
//! tells a damaged header from a wrong passphrase. Then come chunks, each sealed with AES-256-GCM behind its length. The
//! key is argon2id of passphrase and salt, so no two files share one; the nonce of a chunk is its number, and the last
//! chunk is marked. So chunks can be neither altered nor left out, and a file that was cut short has no end.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};

use argon2::{Algorithm, Argon2, Params, Version};
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::digest::{SHA256, digest};
use db::Entropy;

const MAGIC: &[u8; 8] = b"TLBKUP1\n";
const SALT_BYTES: usize = 16;
const TAG_BYTES: usize = 16;
const CHECKED_BYTES: usize = MAGIC.len() + SALT_BYTES + TAG_BYTES;
const HEADER_BYTES: usize = CHECKED_BYTES + 32;
const CHUNK_BYTES: usize = 256 * 1024;
/// The bit of a chunk's length that marks the last one.
const LAST: u32 = 1 << 31;
/// 64 MiB, three passes, four lanes: what RFC 9106 recommends where memory is limited.
const KIB: u32 = 64 * 1024;
const PASSES: u32 = 3;
const LANES: u32 = 4;

/// Why a file is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    NotABackup,
    WrongPassphrase,
    Torn,
    Altered,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::NotABackup => "this is not a backup of Trunkline",
            Fault::WrongPassphrase => "the passphrase is wrong",
            Fault::Torn => "the backup is torn: its end is missing",
            Fault::Altered => "the backup was altered or damaged after it was written",
        })
    }
}

impl std::error::Error for Fault {}

impl From<Fault> for io::Error {
    fn from(fault: Fault) -> io::Error {
        io::Error::new(ErrorKind::InvalidData, fault)
    }
}

fn derive_key(passphrase: &str, salt: &[u8]) -> io::Result<LessSafeKey> {
    let broken = |error: argon2::Error| io::Error::other(error.to_string());
    let params = Params::new(KIB, PASSES, LANES, Some(32)).map_err(broken)?;
    let mut key = [0; 32];
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(passphrase.as_bytes(), salt, &mut key)
        .map_err(broken)?;
    Ok(LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &key).map_err(io::Error::other)?))
}

/// The nonce of the header, which no chunk can have: chunks have twelve bytes of which the first four are zero.
fn header_nonce() -> Nonce {
    Nonce::assume_unique_for_key([0xff; 12])
}

fn chunk_nonce(number: u64) -> Nonce {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&number.to_be_bytes());
    Nonce::assume_unique_for_key(nonce)
}

pub struct SealedWriter<W> {
    out: W,
    key: LessSafeKey,
    chunk: Vec<u8>,
    number: u64,
}

impl<W: Write> SealedWriter<W> {
    pub fn new(mut out: W, passphrase: &str) -> io::Result<SealedWriter<W>> {
        let salt: [u8; SALT_BYTES] = Entropy.bytes();
        let key = derive_key(passphrase, &salt)?;
        let mut header = [MAGIC.as_slice(), &salt].concat();
        let tag =
            key.seal_in_place_separate_tag(header_nonce(), Aad::from(&header), &mut []).map_err(io::Error::other)?;
        header.extend_from_slice(tag.as_ref());
        header.extend_from_slice(digest(&SHA256, &header).as_ref());
        out.write_all(&header)?;
        Ok(SealedWriter { out, key, chunk: Vec::with_capacity(CHUNK_BYTES), number: 0 })
    }

    /// Writes the mark of the end. Without it the stream counts as torn.
    pub fn finish(mut self) -> io::Result<W> {
        self.seal_chunk(LAST)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn seal_chunk(&mut self, mark: u32) -> io::Result<()> {
        let length = u32::try_from(self.chunk.len()).map_err(io::Error::other)?;
        let head = (length | mark).to_be_bytes();
        let nonce = chunk_nonce(self.number);
        let tag = self.key.seal_in_place_separate_tag(nonce, Aad::from(head), &mut self.chunk);
        let tag = tag.map_err(io::Error::other)?;
        self.out.write_all(&head)?;
        self.out.write_all(&self.chunk)?;
        self.out.write_all(tag.as_ref())?;
        self.chunk.clear();
        self.number += 1;
        Ok(())
    }
}

impl<W: Write> Write for SealedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.chunk.len() == CHUNK_BYTES {
            self.seal_chunk(0)?;
        }
        let taken = bytes.len().min(CHUNK_BYTES - self.chunk.len());
        self.chunk.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    /// What is not a chunk yet stays.
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

pub struct SealedReader<R> {
    from: R,
    key: LessSafeKey,
    chunk: Vec<u8>,
    /// How much of the chunk was read.
    at: usize,
    number: u64,
    has_ended: bool,
}

impl<R: Read> SealedReader<R> {
    pub fn new(mut from: R, passphrase: &str) -> io::Result<SealedReader<R>> {
        let mut header = Vec::with_capacity(HEADER_BYTES);
        from.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut header)?;
        let magic_bytes = header.len().min(MAGIC.len());
        if header[..magic_bytes] != MAGIC[..magic_bytes] {
            return Err(Fault::NotABackup.into());
        }
        if header.len() < HEADER_BYTES {
            return Err(Fault::Torn.into());
        }
        let (checked, checksum) = header.split_at(CHECKED_BYTES);
        if digest(&SHA256, checked).as_ref() != checksum {
            return Err(Fault::Altered.into());
        }
        let (named, tag) = checked.split_at(CHECKED_BYTES - TAG_BYTES);
        let key = derive_key(passphrase, &named[MAGIC.len()..])?;
        let opened = key.open_in_place(header_nonce(), Aad::from(named), &mut tag.to_vec()).is_ok();
        if !opened {
            return Err(Fault::WrongPassphrase.into());
        }
        Ok(SealedReader { from, key, chunk: Vec::new(), at: 0, number: 0, has_ended: false })
    }

    fn open_chunk(&mut self) -> io::Result<()> {
        let mut head = [0; 4];
        self.from.read_exact(&mut head).map_err(torn)?;
        let marked = u32::from_be_bytes(head);
        let length = (marked & !LAST) as usize;
        if length > CHUNK_BYTES {
            return Err(Fault::Altered.into());
        }
        self.chunk.resize(length + TAG_BYTES, 0);
        self.from.read_exact(&mut self.chunk).map_err(torn)?;
        let nonce = chunk_nonce(self.number);
        let opened = self.key.open_in_place(nonce, Aad::from(head), &mut self.chunk).map_err(|_| Fault::Altered)?.len();
        self.chunk.truncate(opened);
        self.at = 0;
        self.number += 1;
        self.has_ended = marked & LAST != 0;
        if self.has_ended && self.from.read(&mut [0])? > 0 {
            return Err(Fault::Altered.into());
        }
        Ok(())
    }
}

fn torn(error: io::Error) -> io::Error {
    if error.kind() == ErrorKind::UnexpectedEof { Fault::Torn.into() } else { error }
}

impl<R: Read> Read for SealedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.chunk.len() {
            if self.has_ended {
                return Ok(0);
            }
            self.open_chunk()?;
        }
        let given = buffer.len().min(self.chunk.len() - self.at);
        buffer[..given].copy_from_slice(&self.chunk[self.at..self.at + given]);
        self.at += given;
        Ok(given)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const PASSPHRASE: &str = "correct horse battery staple";

    fn seal(content: &[u8]) -> Vec<u8> {
        let mut writer = SealedWriter::new(Vec::new(), PASSPHRASE).unwrap();
        content.chunks(7_001).for_each(|piece| writer.write_all(piece).unwrap());
        writer.finish().unwrap()
    }

    fn open(sealed: &[u8], passphrase: &str) -> Result<Vec<u8>, Fault> {
        let mut content = Vec::new();
        let read = SealedReader::new(sealed, passphrase).and_then(|mut reader| reader.read_to_end(&mut content));
        let fault = |error: io::Error| *error.get_ref().unwrap().downcast_ref::<Fault>().unwrap();
        read.map(|_| content).map_err(fault)
    }

    #[test]
    fn content_of_any_size_comes_back() {
        for size in [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES] {
            let content: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
            assert!(open(&seal(&content), PASSPHRASE).unwrap() == content, "{size}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_file_is_told_apart() {
        let sealed = seal(&vec![7; 2 * CHUNK_BYTES]);
        assert_eq!(open(&sealed, "another passphrase"), Err(Fault::WrongPassphrase));
        assert_eq!(open(b"PK\x03\x04 is a zip", PASSPHRASE), Err(Fault::NotABackup));
        let second = HEADER_BYTES + 4 + CHUNK_BYTES + TAG_BYTES;
        for length in [0, 5, HEADER_BYTES - 1, HEADER_BYTES, HEADER_BYTES + 2, second - 1, second, sealed.len() - 1] {
            assert_eq!(open(&sealed[..length], PASSPHRASE), Err(Fault::Torn), "{length}");
        }
        assert_eq!(open(&[&sealed[..], b"x"].concat(), PASSPHRASE), Err(Fault::Altered));
        // The chunks in another order.
        let swapped = [&sealed[..HEADER_BYTES], &sealed[second..], &sealed[HEADER_BYTES..second]].concat();
        assert_eq!(open(&swapped, PASSPHRASE), Err(Fault::Altered));
    }

    #[test]
    fn a_flipped_bit_is_noticed_wherever_it_is() {
        let sealed = seal(b"a few words");
        // Only behind the header is the passphrase hashed, which takes time.
        for at in (0..HEADER_BYTES).chain((HEADER_BYTES..sealed.len()).step_by(3)) {
            let mut altered = sealed.clone();
            altered[at] ^= 1;
            let fault = open(&altered, PASSPHRASE).unwrap_err();
            let expected = if at < MAGIC.len() { Fault::NotABackup } else { Fault::Altered };
            // The length of a chunk is known to be wrong only where the file ends.
            assert!(fault == expected || fault == Fault::Torn, "{at}: {fault}");
        }
    }
}
