//! The outbox: a folder with one `.eml` file per mail, for development or for another program to pick up.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::MailError;
use crate::durable::{Draft, create_folder, sync_folder};

pub struct Outbox {
    folder: PathBuf,
}

impl Outbox {
    pub fn open(folder: &Path) -> Result<Outbox, MailError> {
        create_folder(folder).map_err(temporary)?;
        Ok(Outbox { folder: folder.to_owned() })
    }

    pub async fn deliver(&self, id: Uuid, message: Vec<u8>) -> Result<(), MailError> {
        let folder = self.folder.clone();
        let written = tokio::task::spawn_blocking(move || write(&folder, id, &message)).await;
        written.map_err(io::Error::other).and_then(|result| result).map_err(temporary)
    }
}

/// The draft is named by the id too, so a leftover from a crash is overwritten when the mail is delivered again.
fn write(folder: &Path, id: Uuid, message: &[u8]) -> io::Result<()> {
    let (draft, mut file) = Draft::create(folder.join(format!(".{id}.draft")))?;
    file.write_all(message)?;
    draft.publish(&file, &folder.join(format!("{id}.eml")))?;
    sync_folder(folder)
}

fn temporary(error: io::Error) -> MailError {
    MailError::Temporary(format!("the outbox cannot be written: {error}"))
}
