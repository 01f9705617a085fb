//! `GET /files/{token}`: the file behind a signed link. The link is the permission; nobody needs to be signed in.

use std::convert::Infallible;
use std::str::FromStr;
use std::time::Duration;

use futures_util::StreamExt;
use hyper::header::HeaderValue;
use schemars::JsonSchema;

use api::answer::Attachment;
use api::context::ReadCtx;
use api::input::Path;
use api::problem::Problem;
use platform::app::App;
use platform::outside::download::{Download, content_disposition};
use platform::outside::files::ContentHash;
use platform::outside::sniff::FileType;
use values::Time;

/// How long a link to somebody's paper lives.
const LINK_LIVES: Duration = Duration::from_secs(5 * 60);

/// Signed token of a download link; it names the file and expires.
#[derive(JsonSchema)]
#[schemars(inline)]
pub struct LinkToken(String);

impl FromStr for LinkToken {
    type Err = Infallible;

    fn from_str(token: &str) -> Result<Self, Infallible> {
        Ok(LinkToken(token.to_owned()))
    }
}

pub async fn download(ctx: ReadCtx, Path(LinkToken(token)): Path<LinkToken>) -> Result<Attachment, Problem> {
    let app = ctx.request.app.clone();
    let now = ctx.request.now;
    // The connection is not needed while the file streams.
    drop(ctx);
    let link = app.links.verify(&token, now).ok_or_else(Problem::not_found)?;
    let found = app.files.open_read(&link.hash).await?;
    let (length, content) = found.ok_or_else(Problem::not_found)?;
    Ok(Attachment {
        content_type: HeaderValue::from_str(&link.content_type).map_err(Problem::internal)?,
        disposition: HeaderValue::from_str(&content_disposition(&link.file_name)).map_err(Problem::internal)?,
        length: Some(length),
        body: content.boxed(),
    })
}

/// Where a paper that somebody handed in can be fetched for a while.
pub fn link(app: &App, hash: ContentHash, file_name: &str, content_type: &str, now: Time) -> String {
    let token = app.links.sign(&Download {
        hash,
        file_name: fitting_name(file_name, content_type),
        content_type: content_type.to_owned(),
        expires_at: link_ends(now),
    });
    format!("{}/v1/files/{token}", app.public_url)
}

/// At least that long, and to a full minute: who looks again soon is shown the same link, and so the same version.
fn link_ends(now: Time) -> Time {
    Time::from_seconds(now.plus(LINK_LIVES).seconds() / 60 * 60 + 60)
}

/// The name with an ending that tells the truth, so that no program opens the file as something else.
fn fitting_name(name: &str, content_type: &str) -> String {
    let extensions = FileType::of_content_type(content_type).map_or(&["bin"][..], FileType::extensions);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    match ending {
        Some(ending) if extensions.contains(&ending.as_str()) => name.to_owned(),
        _ => format!("{name}.{}", extensions[0]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_as_its_content_does() {
        assert_eq!(fitting_name("scan.PDF", "application/pdf"), "scan.PDF");
        assert_eq!(fitting_name("photo.jpeg", "image/jpeg"), "photo.jpeg");
        assert_eq!(fitting_name("scan.pdf", "image/png"), "scan.pdf.png");
        assert_eq!(fitting_name("setup.exe", "application/pdf"), "setup.exe.pdf");
        assert_eq!(fitting_name("scan", "application/pdf"), "scan.pdf");
    }
}
