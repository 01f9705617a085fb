//! Writes a sample of every mail to files: `trunkline mail preview`.

use std::fs;
use std::path::{Path, PathBuf};

use askama::Template;

use super::Recipient;
use super::templates::{Branding, RenderedMail, SAMPLES, Sample};
use crate::config::Settings;

#[derive(Template)]
#[template(path = "preview.html")]
struct Index<'a> {
    brand: &'a Branding,
    mails: &'a [(&'static Sample, RenderedMail)],
}

type PreviewError = Box<dyn std::error::Error + Send + Sync>;

/// Writes the HTML and the text of every sample into the folder, and an `index.html` that shows them side by side.
pub fn preview(settings: &Settings, folder: &Path) -> Result<Vec<PathBuf>, PreviewError> {
    let brand = Branding::new(settings);
    let to = Recipient::new(&"anna@customer.example".parse()?, "Anna de Vries");
    let mails =
        SAMPLES.iter().map(|sample| Ok((sample, (sample.render)(&brand, &to)?))).collect::<askama::Result<Vec<_>>>()?;
    let index = Index { brand: &brand, mails: &mails }.render()?;
    let mut files = vec![(folder.join("index.html"), index.as_str())];
    for (sample, mail) in &mails {
        let name = sample.name();
        files.push((folder.join(format!("{name}.html")), &mail.html));
        files.push((folder.join(format!("{name}.txt")), &mail.text));
    }
    fs::create_dir_all(folder)?;
    for (path, content) in &files {
        fs::write(path, content).map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
    }
    Ok(files.into_iter().map(|(path, _)| path).collect())
}
