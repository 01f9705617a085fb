//! A file whose errors say which one it is.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub struct NamedFile {
    file: File,
    path: PathBuf,
}

impl NamedFile {
    pub fn new(file: File, path: PathBuf) -> NamedFile {
        NamedFile { file, path }
    }

    pub fn file(&self) -> &File {
        &self.file
    }
}

impl Write for NamedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|error| cannot("write", &self.path, error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The error with what could not be done to which file.
pub fn cannot(what: &str, path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {what} {}: {error}", path.display()))
}
