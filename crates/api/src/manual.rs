//! The manual: the pages that `make manual` builds from `docs/`, below `/manual`.
//!
//! The folder is read once, when the service starts. A request names one of the files that were found there, so no path
//! leads out of the folder; links in it are not followed. mdBook's pages begin with a few lines of inline script, which
//! the policy of each page allows by their hashes.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

use bytes::Bytes;
use hyper::header::{HeaderValue, InvalidHeaderValue};

use super::document::{Document, media_type};
use super::headers::inline_source;

/// Where the first page is. Links between pages are relative, so it ends in a slash.
pub(super) const FRONT: &str = "/manual/";
pub(super) const ROOT: &str = "/manual";
/// Everything below, where there is no manual.
pub(super) const BELOW: &str = "/manual/{*page}";
pub(super) const ABSENT: &str = "This service has no manual. Build one with `make manual`, or take the one of the \
                                 package, and name its folder in TRUNKLINE_MANUAL_DIR.";

const INDEX: &str = "/manual/index.html";
const MAX_FILES: usize = 2_000;
const MAX_BYTES: u64 = 64 * 1024 * 1024;
const MAX_DEPTH: usize = 8;

/// The files of a manual.
#[derive(Default)]
pub struct Manual {
    files: Vec<(String, Bytes)>,
    bytes: u64,
}

impl Manual {
    /// Reads the files of a folder; `None` if it does not exist or has no front page.
    pub fn read(folder: &Path) -> io::Result<Option<Manual>> {
        if !folder.is_dir() {
            return Ok(None);
        }
        let mut manual = Manual::default();
        manual.add(folder, ROOT, 0)?;
        let has_front = manual.files.iter().any(|(path, _)| path == INDEX);
        Ok(Some(manual).filter(|_| has_front))
    }

    fn add(&mut self, folder: &Path, path: &str, depth: usize) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| is_plain(name)) else { continue };
            let path = format!("{path}/{name}");
            // Of the entry itself: a link is neither a folder nor a file.
            let kind = entry.file_type()?;
            if kind.is_dir() && depth < MAX_DEPTH {
                self.add(&entry.path(), &path, depth + 1)?;
            } else if kind.is_file() {
                self.bytes = self.bytes.saturating_add(entry.metadata()?.len());
                if self.files.len() == MAX_FILES || self.bytes > MAX_BYTES {
                    return Err(io::Error::other(format!(
                        "more than {MAX_FILES} files or {} MiB, so this is no manual",
                        MAX_BYTES >> 20
                    )));
                }
                self.files.push((path, fs::read(entry.path())?.into()));
            }
        }
        Ok(())
    }

    /// Every file with its path, and the front page once more under [`FRONT`].
    pub(super) fn documents(&self) -> Result<Vec<(String, Document)>, InvalidHeaderValue> {
        let front = self.files.iter().filter(|(path, _)| path == INDEX).map(|file| (FRONT, file));
        let files = self.files.iter().map(|file| (file.0.as_str(), file));
        files.chain(front).map(|(path, (name, body))| Ok((path.to_owned(), document(name, body)?))).collect()
    }
}

/// Whether a name means the same in a path of the service, and is not hidden.
fn is_plain(name: &str) -> bool {
    let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !name.starts_with('.') && name.bytes().all(is_unreserved)
}

fn document(name: &str, body: &Bytes) -> Result<Document, InvalidHeaderValue> {
    let is_page = name.ends_with(".html");
    let policy = is_page.then(|| HeaderValue::from_str(&policy(&String::from_utf8_lossy(body)))).transpose()?;
    Ok(Document::of_bytes(media_type(name), policy, body.clone()))
}

/// Styles may be inline: the cells of an aligned column have one each. Search loads its index with a request.
fn policy(page: &str) -> String {
    let hashes: BTreeSet<String> = inline_scripts(page).into_iter().map(inline_source).collect();
    let hashes: String = hashes.iter().map(|hash| format!(" {hash}")).collect();
    format!(
        "default-src 'none'; script-src 'self'{hashes}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
         font-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    )
}

fn inline_scripts(page: &str) -> Vec<&str> {
    let (mut scripts, mut rest) = (Vec::new(), page);
    while let Some((_, tag)) = rest.split_once("<script") {
        let Some((attributes, after)) = tag.split_once('>') else { break };
        let Some((script, after)) = after.split_once("</script>") else { break };
        if !attributes.contains("src=") {
            scripts.push(script);
        }
        rest = after;
    }
    scripts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_scripts_in_the_page_itself_are_allowed_by_hash() {
        let page = "<script>a()</script><p>&lt;script&gt;</p><script src=\"b.js\"></script>\
                    <script type=\"module\">if (1 < 2) { d('<script') }</script><script>unended";
        assert_eq!(inline_scripts(page), ["a()", "if (1 < 2) { d('<script') }"]);
        assert!(policy(page).contains("script-src 'self' 'sha256-"));
        assert!(policy("<p>").contains("script-src 'self'; "));
    }

    #[test]
    fn a_name_that_a_path_would_have_to_escape_is_left_out() {
        for name in ["index.html", "book-1a2b.js", "Fira_Sans.woff2"] {
            assert!(is_plain(name), "{name}");
        }
        for name in [".nojekyll", "..", ".", "a b", "a%2f", "{page}", "é.html", "a/b"] {
            assert!(!is_plain(name), "{name}");
        }
    }
}
