//! Every mail, as files to look at.

use std::fs;
use std::path::{Path, PathBuf};

use askama::Template;

use super::list::Sample;
use super::mails::SAMPLES;
use super::{Addressee, Draft, Letterhead};
use crate::app::StartError;
use crate::config::Settings;

#[derive(Template)]
#[template(path = "preview.html")]
struct Index<'a> {
    head: &'a Letterhead,
    mails: &'a [(&'static Sample, Draft)],
}

/// Writes both bodies of a sample of every mail into the folder, and `index.html` to see them side by side.
pub fn preview(settings: &Settings, folder: &Path) -> Result<Vec<PathBuf>, StartError> {
    let head = Letterhead::new(settings);
    let to = Addressee::new(&"anna@customer.example".parse()?, "Anna de Vries");
    let mails =
        SAMPLES.iter().map(|sample| Ok((sample, (sample.draft)(&head, &to)?))).collect::<askama::Result<Vec<_>>>()?;
    let index = Index { head: &head, mails: &mails }.render()?;
    let mut files = vec![(folder.join("index.html"), index.as_str())];
    for (sample, draft) in &mails {
        let name = sample.name();
        files.push((folder.join(format!("{name}.html")), &draft.html));
        files.push((folder.join(format!("{name}.txt")), &draft.text));
    }
    fs::create_dir_all(folder)?;
    for (path, content) in &files {
        fs::write(path, content).map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
    }
    Ok(files.into_iter().map(|(path, _)| path).collect())
}
