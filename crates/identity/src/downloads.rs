//! `GET /files/{token}`: the file of a signed link. The link is the permission; no sign-in is needed.

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

/// How long a download link is valid, at least.
const LINK_LIFETIME: Duration = Duration::from_secs(5 * 60);

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
    let file = app.files.open_read(&link.hash).await?;
    let (length, content) = file.ok_or_else(Problem::not_found)?;
    Ok(Attachment {
        content_type: HeaderValue::from_str(&link.content_type).map_err(Problem::internal)?,
        disposition: HeaderValue::from_str(&content_disposition(&link.file_name)).map_err(Problem::internal)?,
        length: Some(length),
        body: content.boxed(),
    })
}

/// Signed URL of a stored file.
pub fn link(app: &App, hash: ContentHash, file_name: &str, content_type: &str, now: Time) -> String {
    let token = app.links.sign(&Download {
        hash,
        file_name: name_with_extension(file_name, content_type),
        content_type: content_type.to_owned(),
        expires_at: link_expiry(now),
    });
    format!("{}/v1/files/{token}", app.public_url)
}

/// Rounded up to a full minute, so that a second read within the minute gives the same link and the same ETag.
fn link_expiry(now: Time) -> Time {
    Time::from_seconds(now.plus(LINK_LIFETIME).seconds() / 60 * 60 + 60)
}

/// The name with an extension that matches the content, so that no program opens the file as something else.
fn name_with_extension(name: &str, content_type: &str) -> String {
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
    fn the_extension_of_a_file_name_matches_its_content() {
        assert_eq!(name_with_extension("scan.PDF", "application/pdf"), "scan.PDF");
        assert_eq!(name_with_extension("photo.jpeg", "image/jpeg"), "photo.jpeg");
        assert_eq!(name_with_extension("scan.pdf", "image/png"), "scan.pdf.png");
        assert_eq!(name_with_extension("setup.exe", "application/pdf"), "setup.exe.pdf");
        assert_eq!(name_with_extension("scan", "application/pdf"), "scan.pdf");
    }
}
