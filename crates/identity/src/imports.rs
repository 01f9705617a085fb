//! Shared parts of imports of tables: status, errors, and a blocking reader of stored files.
//!
//! An import is uploaded as a file, and a job reads it later on a thread of its own. It is applied as a whole or not at
//! all; every error names its line and column.

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
    /// Line number in the file, counted from 1 with the header included; in a workbook the row.
    pub line: u64,
    /// Name of the column; null when the error concerns the whole line.
    pub column: Option<String>,
    /// Cell of a workbook, such as B7; null in CSV and when the error concerns the whole line.
    #[serde(default)]
    pub cell: Option<String>,
    /// What is wrong.
    pub reason: String,
}

impl From<sheet::Fault> for ImportFault {
    fn from(fault: sheet::Fault) -> Self {
        let column = fault.column.map(str::to_owned);
        ImportFault { line: fault.line, column, cell: fault.cell, reason: fault.reason }
    }
}

/// Number of data rows of a file with this many lines, the first of which is the header.
pub fn rows_of(lines: u64) -> i64 {
    i64::try_from(lines).unwrap_or(i64::MAX).saturating_sub(1).max(0)
}

/// Chunks of a file that are buffered for the reader.
const MAX_BUFFERED_CHUNKS: usize = 16;

/// A blocking reader of a file, for use outside the async runtime.
pub fn read_blocking(content: Content) -> impl Read + Send {
    let (sender, chunks) = mpsc::channel(MAX_BUFFERED_CHUNKS);
    tokio::spawn(send_chunks(content, sender));
    ChunkReader { chunks, chunk: Bytes::new() }
}

async fn send_chunks(mut content: Content, sender: mpsc::Sender<io::Result<Bytes>>) {
    while let Some(chunk) = content.next().await {
        if sender.send(chunk).await.is_err() {
            break;
        }
    }
}

struct ChunkReader {
    chunks: mpsc::Receiver<io::Result<Bytes>>,
    chunk: Bytes,
}

impl Read for ChunkReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.chunk.is_empty() {
            match self.chunks.blocking_recv() {
                Some(chunk) => self.chunk = chunk?,
                None => return Ok(0),
            }
        }
        let length = self.chunk.len().min(into.len());
        if let Some(into) = into.get_mut(..length) {
            self.chunk.copy_to_slice(into);
        }
        Ok(length)
    }
}
