//! What imports of tables have in common, whatever they import.
//!
//! A table is taken in as a file, and a job reads it later on a thread of its own. It is good as a whole or changes
//! nothing; what is wrong with it is told with line and column.

use std::io::{self, Read};

use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use platform::outside::files::Content;
use values::text_enum;

text_enum! {
    /// Status of an import: `queued`, `running`, `completed`, or `failed` (nothing was imported).
    pub enum ImportStatus {
        Queued = "queued",
        Running = "running",
        Completed = "completed",
        Failed = "failed",
    }
}

/// Error in an imported file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ImportFault {
    /// Line number in the file, counted from 1 with the header included.
    pub line: u64,
    /// Name of the column; null when the error concerns the whole line.
    pub column: Option<String>,
    /// What is wrong.
    pub reason: String,
}

impl From<sheet::Fault> for ImportFault {
    fn from(fault: sheet::Fault) -> Self {
        ImportFault { line: fault.line, column: fault.column.map(str::to_owned), reason: fault.reason }
    }
}

/// A file's rows, by its lines: the first is the header.
pub fn rows_of(lines: u64) -> i64 {
    i64::try_from(lines).unwrap_or(i64::MAX).saturating_sub(1).max(0)
}

/// Pieces of a file that may wait to be read.
const WAITING: usize = 16;

/// The file for a thread that may wait, piece by piece.
pub fn read_blocking(content: Content) -> impl Read + Send {
    let (pieces, source) = mpsc::channel(WAITING);
    tokio::spawn(hand_over(content, pieces));
    Source { pieces: source, piece: Bytes::new() }
}

async fn hand_over(mut content: Content, pieces: mpsc::Sender<io::Result<Bytes>>) {
    while let Some(piece) = content.next().await {
        if pieces.send(piece).await.is_err() {
            break;
        }
    }
}

struct Source {
    pieces: mpsc::Receiver<io::Result<Bytes>>,
    piece: Bytes,
}

impl Read for Source {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.pieces.blocking_recv() {
                Some(piece) => self.piece = piece?,
                None => return Ok(0),
            }
        }
        let length = self.piece.len().min(into.len());
        if let Some(into) = into.get_mut(..length) {
            self.piece.copy_to_slice(into);
        }
        Ok(length)
    }
}
