//! Documents: what everybody gets alike, such as openapi.json, the reference page and the files of portal and manual.
//!
//! A text of the service is generated at its first request and compressed at the first that accepts it; a file of the
//! portal came with both. Each coding has an ETag of its own, and a client that has the version gets 304.

use std::sync::{Arc, LazyLock, OnceLock};

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue,
    IF_NONE_MATCH, VARY,
};

use super::compression::{self, Coding};
use super::conditional;
use super::portal::File;
use super::problem::Problem;
use super::response::{Response, full};

pub struct Document {
    content_type: HeaderValue,
    policy: Option<HeaderValue>,
    caching: Caching,
    text: LazyLock<Text, Box<dyn FnOnce() -> Text + Send>>,
}

#[derive(Clone, Copy)]
enum Caching {
    /// A cache asks before it uses its copy.
    Revalidate,
    /// The name changes with the content, so a copy is good for ever.
    Immutable,
}

impl Caching {
    fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Caching::Revalidate => "no-cache",
            Caching::Immutable => "public, max-age=31536000, immutable",
        })
    }
}

struct Text {
    tag: String,
    body: Bytes,
    brotli: OnceLock<Option<Bytes>>,
    gzip: OnceLock<Option<Bytes>>,
}

impl Text {
    fn new(body: Bytes) -> Text {
        Text { tag: conditional::etag(&body), body, brotli: OnceLock::new(), gzip: OnceLock::new() }
    }

    fn kept(&self, coding: Coding) -> &OnceLock<Option<Bytes>> {
        match coding {
            Coding::Brotli => &self.brotli,
            Coding::Gzip => &self.gzip,
        }
    }

    /// The body in this coding; `None` if that is not shorter.
    fn packed(&self, coding: Coding) -> Option<&Bytes> {
        let pack = || compression::packed_once(&self.body, coding).filter(|packed| packed.len() < self.body.len());
        let pack_long = || if self.body.len() < compression::MIN_BYTES { None } else { pack() };
        self.kept(coding).get_or_init(pack_long).as_ref()
    }
}

impl From<File> for Text {
    /// What the build did not compress is compressed at the first request, as other texts are.
    fn from(file: File) -> Text {
        let known = |packed: Option<&'static [u8]>| {
            packed.map_or_else(OnceLock::new, |bytes| OnceLock::from(Some(Bytes::from_static(bytes))))
        };
        let (brotli, gzip) = (known(file.brotli), known(file.gzip));
        Text { brotli, gzip, ..Text::new(Bytes::from_static(file.plain)) }
    }
}

impl Document {
    pub fn new(
        content_type: &'static str,
        policy: Option<HeaderValue>,
        write: impl FnOnce() -> String + Send + 'static,
    ) -> Document {
        Document::made_by(content_type, policy, Caching::Revalidate, || Text::new(Bytes::from(write())))
    }

    /// A file of the portal.
    pub(super) fn of_portal(file: File, policy: Option<HeaderValue>) -> Document {
        let caching = if file.is_immutable() { Caching::Immutable } else { Caching::Revalidate };
        Document::made_by(media_type(file.path), policy, caching, move || Text::from(file))
    }

    /// A file that was read at the start.
    pub(super) fn of_bytes(content_type: &'static str, policy: Option<HeaderValue>, body: Bytes) -> Document {
        Document::made_by(content_type, policy, Caching::Revalidate, || Text::new(body))
    }

    fn made_by(
        content_type: &'static str,
        policy: Option<HeaderValue>,
        caching: Caching,
        make: impl FnOnce() -> Text + Send + 'static,
    ) -> Document {
        let content_type = HeaderValue::from_static(content_type);
        Document { content_type, policy, caching, text: LazyLock::new(Box::new(make)) }
    }

    pub async fn answer(self: &Arc<Self>, request: &HeaderMap) -> Result<Response, Problem> {
        let coding = self.make(request).await?;
        Ok(self.render(coding, request.get(IF_NONE_MATCH).and_then(|value| value.to_str().ok())))
    }

    /// The response to a path that does not exist. It is never "not modified", and has no version of its own.
    pub async fn answer_not_found(self: &Arc<Self>, request: &HeaderMap) -> Result<Response, Problem> {
        let coding = self.make(request).await?;
        let mut response = self.render(coding, None);
        *response.status_mut() = StatusCode::NOT_FOUND;
        let headers = response.headers_mut();
        headers.remove(ETAG);
        headers.append(VARY, HeaderValue::from_static("accept"));
        Ok(response)
    }

    /// Makes the text in the coding that the caller likes best, which takes a while, so on a blocking thread. One that is
    /// made waits for none: thousands of requests for a page would be running at the same time, and others refused.
    async fn make(self: &Arc<Self>, request: &HeaderMap) -> Result<Option<Coding>, Problem> {
        let coding = Coding::negotiate(request, compression::STATIC);
        let is_packed = |text: &Text| coding.is_none_or(|coding| text.kept(coding).get().is_some());
        if !LazyLock::get(&self.text).is_some_and(is_packed) {
            let document = self.clone();
            let make = move || drop(document.render(coding, None));
            tokio::task::spawn_blocking(make).await.map_err(Problem::internal)?;
        }
        Ok(coding)
    }

    fn render(&self, coding: Option<Coding>, known: Option<&str>) -> Response {
        let packed = coding.and_then(|coding| Some((coding, self.text.packed(coding)?)));
        let is_known = known.is_some_and(|list| conditional::matches(list, &self.text.tag));
        let mut response = match &packed {
            _ if is_known => full(StatusCode::NOT_MODIFIED, ""),
            Some((_, packed)) => full(StatusCode::OK, Bytes::clone(packed)),
            None => full(StatusCode::OK, self.text.body.clone()),
        };
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, self.content_type.clone());
        headers.insert(CACHE_CONTROL, self.caching.header());
        if let Ok(tag) = HeaderValue::from_str(&self.text.tag) {
            headers.insert(ETAG, tag);
        }
        if let Some(policy) = &self.policy {
            headers.insert(CONTENT_SECURITY_POLICY, policy.clone());
        }
        compression::vary(headers);
        if let Some((coding, _)) = packed {
            compression::mark(headers, coding);
            if is_known {
                headers.remove(CONTENT_ENCODING);
            }
        }
        response
    }
}

/// What a file holds, by the end of its name.
pub(super) fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "txt" => "text/plain; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "ico" => "image/x-icon",
        "woff" => "font/woff",
        "woff2" => "font/woff2",
        "ttf" => "font/ttf",
        "otf" => "font/otf",
        _ => "application/octet-stream",
    }
}

/// Whether the caller asks for a page, as a browser does that opens an address. `*/*`, which programs send, does not.
pub fn accepts_html(request: &HeaderMap) -> bool {
    weight_of(request, "text/html").is_some()
}

/// The weight of a media type that `Accept` names itself, not by a wildcard; `None` if it is not accepted.
pub fn weight_of(request: &HeaderMap, wanted: &str) -> Option<f32> {
    let values = request.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let weights = values.flat_map(|value| value.split(',')).filter_map(|range| {
        let mut parts = range.split(';').map(str::trim);
        parts.next().filter(|media_type| media_type.eq_ignore_ascii_case(wanted))?;
        let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        weight.map_or(Some(1.0), |weight| weight.parse().ok()).filter(|weight| *weight > 0.0)
    });
    weights.reduce(f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_names_html_asks_for_a_page() {
        for (accept, expected) in [
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true),
            ("application/json, Text/HTML;level=1;q=0.1", true),
            ("text/html;q=0", false),
            ("text/html;q=x", false),
            ("*/*", false),
            ("text/*", false),
            ("application/json", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
            assert_eq!(accepts_html(&headers), expected, "{accept:?}");
        }
        assert!(!accepts_html(&HeaderMap::new()));
    }
}
