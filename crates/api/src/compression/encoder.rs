//! One text or stream in a content coding.

use std::io::{self, Write};

use brotli::CompressorWriter;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::negotiation::Coding;

const BROTLI_BUFFER_BYTES: usize = 4096;
/// A window of 256 KiB, which bounds the memory of a response that is compressed while it is sent.
const QUICK_WINDOW: u32 = 18;
const BEST_WINDOW: u32 = 22;

/// How hard to try.
#[derive(Clone, Copy)]
pub enum Level {
    /// For a response to one request.
    Quick,
    /// For a text that is compressed once and sent often.
    Best,
}

pub enum Encoder {
    Gzip(Box<GzEncoder<Vec<u8>>>),
    Brotli(Box<CompressorWriter<Vec<u8>>>),
}

impl Encoder {
    pub fn new(coding: Coding, level: Level) -> Encoder {
        match (coding, level) {
            (Coding::Gzip, Level::Quick) => gzip(Compression::new(3)),
            (Coding::Gzip, Level::Best) => gzip(Compression::best()),
            (Coding::Brotli, Level::Quick) => brotli(3, QUICK_WINDOW),
            (Coding::Brotli, Level::Best) => brotli(9, BEST_WINDOW),
        }
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Encoder::Gzip(encoder) => encoder.write_all(bytes),
            Encoder::Brotli(encoder) => encoder.write_all(bytes),
        }
    }

    /// What can be sent already.
    pub fn take(&mut self) -> Bytes {
        let ready = match self {
            Encoder::Gzip(encoder) => encoder.get_mut(),
            Encoder::Brotli(encoder) => encoder.get_mut(),
        };
        std::mem::take(ready).into()
    }

    /// The rest.
    pub fn finish(self) -> io::Result<Bytes> {
        match self {
            Encoder::Gzip(encoder) => encoder.finish().map(Bytes::from),
            Encoder::Brotli(encoder) => Ok(encoder.into_inner().into()),
        }
    }
}

fn gzip(level: Compression) -> Encoder {
    Encoder::Gzip(Box::new(GzEncoder::new(Vec::new(), level)))
}

fn brotli(quality: u32, window: u32) -> Encoder {
    Encoder::Brotli(Box::new(CompressorWriter::new(Vec::new(), BROTLI_BUFFER_BYTES, quality, window)))
}
