//! A maildir: a folder with `new` and `cur`. Unseen messages are in `new`; one that was handled moves to `cur`.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use tokio::fs::{self, File};
use tokio::io::AsyncReadExt;

use super::{MAX_HEADER_BYTES, MAX_MESSAGE_BYTES, MailboxError, RawMessage};

/// Files that are looked at for the oldest ones.
const MAX_LISTED: usize = 100_000;

#[derive(Clone)]
pub struct Maildir {
    new: PathBuf,
    cur: PathBuf,
}

impl Maildir {
    pub fn new(folder: &Path) -> Maildir {
        Maildir { new: folder.join("new"), cur: folder.join("cur") }
    }

    pub async fn open(&self) -> Result<Maildir, MailboxError> {
        for folder in [&self.new, &self.cur] {
            let found = fs::metadata(folder).await.map_err(|error| unreadable(folder, &error))?;
            if !found.is_dir() {
                return Err(MailboxError(format!("{} is not a folder", folder.display())));
            }
        }
        Ok(self.clone())
    }

    /// The names begin with the time of delivery.
    pub async fn unseen(&self, limit: usize) -> Result<Vec<String>, MailboxError> {
        let mut names = self.list().await.map_err(|error| unreadable(&self.new, &error))?;
        names.sort_unstable();
        names.truncate(limit);
        Ok(names)
    }

    async fn list(&self) -> io::Result<Vec<String>> {
        let mut entries = fs::read_dir(&self.new).await?;
        let mut names = Vec::new();
        while names.len() < MAX_LISTED
            && let Some(entry) = entries.next_entry().await?
        {
            let is_file = entry.file_type().await?.is_file();
            if is_file && let Ok(name) = entry.file_name().into_string() {
                names.push(name);
            }
        }
        names.retain(|name| !name.starts_with('.'));
        Ok(names)
    }

    pub async fn fetch(&self, name: &str) -> Result<Option<RawMessage>, MailboxError> {
        let path = self.new.join(name);
        match read(&path).await {
            Ok(message) => Ok(Some(message)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unreadable(&path, &error)),
        }
    }

    pub async fn mark_seen(&self, name: &str) -> Result<(), MailboxError> {
        let from = self.new.join(name);
        let base = name.split(":2,").next().unwrap_or(name);
        match fs::rename(&from, self.cur.join(format!("{base}:2,S"))).await {
            // Another program has moved it.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(MailboxError(format!("{} cannot be moved: {error}", from.display()))),
            Ok(()) => Ok(()),
        }
    }
}

async fn read(path: &Path) -> io::Result<RawMessage> {
    let file = File::open(path).await?;
    let size_bytes = file.metadata().await?.len();
    let is_whole = size_bytes <= MAX_MESSAGE_BYTES;
    let mut bytes = Vec::new();
    file.take(if is_whole { MAX_MESSAGE_BYTES } else { MAX_HEADER_BYTES }).read_to_end(&mut bytes).await?;
    Ok(RawMessage { bytes, size_bytes, is_whole })
}

fn unreadable(path: &Path, error: &io::Error) -> MailboxError {
    MailboxError(format!("{} cannot be read: {error}", path.display()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_message_that_was_seen_moves_out_of_new() {
        let folder = tempfile::tempdir().unwrap();
        let maildir = Maildir::new(folder.path());
        assert!(maildir.open().await.is_err());
        for name in ["new", "cur"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        for name in ["1700000002.b", "1700000001.a", ".hidden"] {
            std::fs::write(folder.path().join("new").join(name), name).unwrap();
        }
        let maildir = maildir.open().await.unwrap();
        assert_eq!(maildir.unseen(1).await.unwrap(), ["1700000001.a"]);
        assert_eq!(maildir.unseen(10).await.unwrap(), ["1700000001.a", "1700000002.b"]);
        let message = maildir.fetch("1700000001.a").await.unwrap().unwrap();
        assert_eq!((&*message.bytes, message.size_bytes, message.is_whole), (&b"1700000001.a"[..], 12, true));
        maildir.mark_seen("1700000001.a").await.unwrap();
        maildir.mark_seen("1700000001.a").await.unwrap();
        assert_eq!(maildir.fetch("1700000001.a").await.unwrap(), None);
        assert_eq!(maildir.unseen(10).await.unwrap(), ["1700000002.b"]);
        assert!(folder.path().join("cur/1700000001.a:2,S").exists());
    }

    #[tokio::test]
    async fn only_the_beginning_of_a_huge_message_is_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("new")).unwrap();
        let file = std::fs::File::create(folder.path().join("new/1.huge")).unwrap();
        file.set_len(MAX_MESSAGE_BYTES + 1).unwrap();
        let message = Maildir::new(folder.path()).fetch("1.huge").await.unwrap().unwrap();
        assert_eq!((message.bytes.len() as u64, message.is_whole), (MAX_HEADER_BYTES, false));
        assert_eq!(message.size_bytes, MAX_MESSAGE_BYTES + 1);
    }
}
