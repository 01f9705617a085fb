//! Host names of the service: the system's resolver reads them from a file, by way of `libnss_wrapper`.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

/// Where the library is found by its name.
const LIBRARY: &str = "libnss_wrapper.so";

pub struct Names {
    file: PathBuf,
    changes: AtomicU64,
}

impl Names {
    pub fn new(folder: &Path) -> Names {
        let names = Names { file: file(folder), changes: AtomicU64::new(1) };
        names.set(&[]);
        names
    }

    /// The environment of a process that resolves these names.
    pub fn settings(folder: &Path) -> [(&'static str, String); 2] {
        [("LD_PRELOAD", LIBRARY.to_owned()), ("NSS_WRAPPER_HOSTS", file(folder).to_str().unwrap().to_owned())]
    }

    /// Replaces all names.
    pub fn set(&self, names: &[(&str, &str)]) {
        let lines: String = names.iter().map(|(name, address)| format!("{address} {name}\n")).collect();
        let draft = self.file.with_extension("new");
        let mut file = File::create(&draft).unwrap();
        file.write_all(lines.as_bytes()).unwrap();
        // The library reads the file again when its time has another second.
        let second = self.changes.fetch_add(1, Ordering::Relaxed);
        file.set_modified(UNIX_EPOCH + Duration::from_secs(second)).unwrap();
        std::fs::rename(draft, &self.file).unwrap();
    }
}

fn file(folder: &Path) -> PathBuf {
    folder.join("hosts")
}
