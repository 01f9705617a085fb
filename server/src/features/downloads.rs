//! `GET /files/{token}`: the file behind a signed link. The link is the permission; nobody needs to be signed in.

use futures_util::StreamExt;
use hyper::header::HeaderValue;

use crate::http::answer::Attachment;
use crate::http::call::Read;
use crate::http::input::Path;
use crate::http::problem::Problem;
use crate::outside::download::content_disposition;

pub async fn download(read: Read, Path(token): Path<String>) -> Result<Attachment, Problem> {
    let app = read.call.app.clone();
    let now = read.call.now;
    // The connection is not needed while the file streams.
    drop(read);
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
