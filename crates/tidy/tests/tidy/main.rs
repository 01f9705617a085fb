//! Rules that a compiler does not check, as tests over the text of the repository.
//!
//! Each rule is a plain function from files to findings, so that a sample can prove that it can fail.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod layers;
mod shape;
mod source;
mod sql;

use std::path::Path;
use std::process::Command;

/// The crates of the service from the bottom up: each may use those before it. The portal comes last, so that nothing but
/// the program is compiled again when it changes.
const CRATES: &[&str] =
    &["values", "db", "platform", "api", "identity", "voice", "billing", "numbers", "backoffice", "server", "portal"];

/// A text file of the repository, by its path from the root.
struct File {
    path: String,
    text: String,
}

/// One place that breaks a rule.
#[derive(Debug, PartialEq)]
struct Finding {
    path: String,
    /// Counted from one; zero stands for the file as a whole.
    line: usize,
    what: String,
}

impl File {
    fn finding(&self, line: usize, what: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, what: what.into() }
    }

    fn has_extension(&self, extensions: &[&str]) -> bool {
        self.path.rsplit_once('.').is_some_and(|(_, extension)| extensions.contains(&extension))
    }

    /// Its path inside the `src` of this crate of the service, if it lies there.
    fn in_crate(&self, name: &str) -> Option<&str> {
        let path = if name == "server" { &self.path } else { self.path.strip_prefix("crates/")? };
        path.strip_prefix(name)?.strip_prefix("/src/").filter(|_| self.has_extension(&["rs"]))
    }

    /// The crate of the service whose shipped source this is, and its path inside that crate's `src`.
    fn of_service(&self) -> Option<(&'static str, &str)> {
        CRATES.iter().find_map(|name| Some((*name, self.in_crate(name)?)))
    }
}

/// Every text file that git tracks or would track.
fn repository() -> Vec<File> {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the package lies inside the repository");
    let listing = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .expect("git is installed");
    assert!(listing.status.success(), "git ls-files: {}", String::from_utf8_lossy(&listing.stderr));
    let paths = String::from_utf8(listing.stdout).expect("paths are UTF-8");
    let files: Vec<File> = paths
        .split_terminator('\0')
        .filter(|path| root.join(path).is_file())
        .filter_map(|path| {
            let text = String::from_utf8(std::fs::read(root.join(path)).ok()?).ok()?;
            (!text.contains('\0')).then(|| File { path: path.to_owned(), text })
        })
        .collect();
    assert!(files.iter().any(|file| file.path == "server/src/lib.rs"), "git lists the repository's files");
    files
}

/// Fails with every finding and what to do about them.
fn demand(findings: &[Finding], advice: &str) {
    let list: String = findings.iter().map(|f| format!("  {}:{}: {}\n", f.path, f.line, f.what)).collect();
    assert!(findings.is_empty(), "\n{list}{advice}\n");
}

/// A file as a sample for a rule.
fn sample(path: &str, text: &str) -> File {
    File { path: path.to_owned(), text: text.to_owned() }
}

/// Whether `word` stands in `text` with no letter, digit or underscore beside it.
fn has_word(text: &str, word: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(part_of_word) && !text[at + word.len()..].starts_with(part_of_word))
}
