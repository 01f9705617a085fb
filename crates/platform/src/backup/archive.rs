//! The parts of a backup, one behind another in a sealed stream: secrets, files, the database, more files, and the
//! manifest at the end. The size of a part need not be known before it is written.

use std::io::{self, Read, Write};

use super::Manifest;
use super::sealed::{Fault, SealedReader, SealedWriter};
use crate::outside::files::ContentHash;

/// Content is written in pieces of at most this size, each behind its length; an empty piece ends the part.
const PIECE_BYTES: usize = 64 * 1024;
/// More than a manifest or the secrets have.
const MAX_JSON_BYTES: u64 = 64 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Secrets,
    /// A file of SQLite, or what `pg_dump --format=custom` writes.
    Database,
    /// A file of the store, sealed as it is stored.
    File(ContentHash),
    Manifest,
}

pub struct ArchiveWriter<W: Write> {
    sealed: SealedWriter<W>,
    files: u64,
}

impl<W: Write> ArchiveWriter<W> {
    pub fn new(out: W, passphrase: &str) -> io::Result<ArchiveWriter<W>> {
        Ok(ArchiveWriter { sealed: SealedWriter::new(out, passphrase)?, files: 0 })
    }

    /// Writes a part with all that `content` gives.
    pub fn write(&mut self, part: Part, content: &mut dyn Read) -> io::Result<()> {
        match part {
            Part::Secrets => self.sealed.write_all(&[1])?,
            Part::Database => self.sealed.write_all(&[2])?,
            Part::File(hash) => {
                self.files += 1;
                self.sealed.write_all(&[3])?;
                self.sealed.write_all(hash.bytes())?;
            }
            Part::Manifest => self.sealed.write_all(&[4])?,
        }
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let read = match content.read(&mut piece) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            let length = u32::try_from(read).map_err(io::Error::other)?;
            self.sealed.write_all(&length.to_be_bytes())?;
            self.sealed.write_all(&piece[..read])?;
            if read == 0 {
                return Ok(());
            }
        }
    }

    /// The files so far; one that was stored again counts twice.
    pub fn files(&self) -> u64 {
        self.files
    }

    /// Writes the last part and the mark of the end.
    pub fn finish(mut self, manifest: &Manifest) -> io::Result<W> {
        self.write(Part::Manifest, &mut serde_json::to_vec(manifest)?.as_slice())?;
        self.sealed.finish()
    }
}

/// Gives the parts in order, and as a reader the content of the part it is at.
pub struct ArchiveReader<R> {
    sealed: SealedReader<R>,
    /// What is left of the piece; `None` outside a part.
    piece: Option<usize>,
}

impl<R: Read> ArchiveReader<R> {
    pub fn new(from: R, passphrase: &str) -> io::Result<ArchiveReader<R>> {
        Ok(ArchiveReader { sealed: SealedReader::new(from, passphrase)?, piece: None })
    }

    /// Goes to the next part, behind what was not read of the one before; `None` at the end.
    pub fn next_part(&mut self) -> io::Result<Option<Part>> {
        io::copy(self, &mut io::sink())?;
        let mut kind = [0];
        if self.sealed.read(&mut kind)? == 0 {
            return Ok(None);
        }
        let part = match kind {
            [1] => Part::Secrets,
            [2] => Part::Database,
            [3] => {
                let mut hash = [0; 32];
                self.sealed.read_exact(&mut hash)?;
                Part::File(ContentHash::new(hash))
            }
            [4] => Part::Manifest,
            _ => return Err(Fault::Altered.into()),
        };
        self.next_piece()?;
        Ok(Some(part))
    }

    /// Reads the part it is at as JSON.
    pub fn read_json<T: serde::de::DeserializeOwned>(&mut self) -> io::Result<T> {
        let mut text = Vec::new();
        self.by_ref().take(MAX_JSON_BYTES).read_to_end(&mut text)?;
        Ok(serde_json::from_slice(&text)?)
    }

    fn next_piece(&mut self) -> io::Result<()> {
        let mut length = [0; 4];
        self.sealed.read_exact(&mut length)?;
        let length = u32::from_be_bytes(length) as usize;
        self.piece = (length > 0).then_some(length);
        Ok(())
    }
}

impl<R: Read> Read for ArchiveReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(left) = self.piece.filter(|_| !buffer.is_empty()) else { return Ok(0) };
        let wanted = buffer.len().min(left);
        let read = self.sealed.read(&mut buffer[..wanted])?;
        match left - read {
            _ if read == 0 => return Err(Fault::Altered.into()),
            0 => self.next_piece()?,
            left => self.piece = Some(left),
        }
        Ok(read)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::backup::Engine;

    const PASSPHRASE: &str = "correct horse battery staple";

    #[test]
    fn parts_come_back_in_order_whether_they_are_read_or_not() {
        let (large, hash) = (vec![5; 3 * PIECE_BYTES + 1], ContentHash::new([9; 32]));
        let mut writer = ArchiveWriter::new(Vec::new(), PASSPHRASE).unwrap();
        writer.write(Part::Secrets, &mut b"\"secret\"".as_slice()).unwrap();
        writer.write(Part::File(hash), &mut large.as_slice()).unwrap();
        writer.write(Part::Database, &mut b"".as_slice()).unwrap();
        let manifest = Manifest {
            made_at: 0,
            version: "1".to_owned(),
            engine: Engine::Sqlite,
            migrations: 2,
            audit_rows: 3,
            files: writer.files(),
            bucket: None,
        };
        let written = writer.finish(&manifest).unwrap();

        let mut reader = ArchiveReader::new(written.as_slice(), PASSPHRASE).unwrap();
        assert_eq!(reader.next_part().unwrap(), Some(Part::Secrets));
        assert_eq!(reader.read_json::<String>().unwrap(), "secret");
        assert_eq!(reader.next_part().unwrap(), Some(Part::File(hash)));
        assert_eq!(reader.next_part().unwrap(), Some(Part::Database));
        assert_eq!(io::read_to_string(&mut reader).unwrap(), "");
        assert_eq!(reader.next_part().unwrap(), Some(Part::Manifest));
        let read: Manifest = reader.read_json().unwrap();
        assert_eq!((read.migrations, read.files, read.engine), (2, 1, Engine::Sqlite));
        assert_eq!(reader.next_part().unwrap(), None);

        let mut reader = ArchiveReader::new(written.as_slice(), PASSPHRASE).unwrap();
        let mut content = Vec::new();
        while let Some(part) = reader.next_part().unwrap() {
            if part == Part::File(hash) {
                reader.read_to_end(&mut content).unwrap();
            }
        }
        assert!(content == large);
    }
}
