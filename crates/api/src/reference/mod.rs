//! The API reference: the OpenAPI document as one HTML page.
//!
//! The page has one inline script (search, copying, samples that scroll by keyboard) and no external resources, so it works
//! offline and with a strict Content-Security-Policy; without the script only these are missing. The contents are on the left, one chapter per
//! tag. Each operation shows who may call it, its parameters, body, responses and problem codes, and the request as curl,
//! TypeScript and Python. Chapters about problems, common parameters, headers and shared types follow.
//!
//! `operation` reads operations, `schema` and `bounds` their schemas; `repeated` finds what many operations share;
//! `request` makes the sample request and `code` writes it; `section` renders an operation, `chapters` what follows them.

mod bounds;
mod chapters;
mod code;
mod operation;
mod repeated;
mod request;
pub(crate) mod schema;
mod section;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::Value;

use super::headers::inline_source;
use super::html::{Html, anchor};
use operation::Operation;
use repeated::Repeated;
use schema::{Document, text};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("search.js");

static POLICY: LazyLock<String> = LazyLock::new(|| {
    let (script, style) = (inline_source(SCRIPT), inline_source(STYLE));
    format!(
        "default-src 'none'; script-src {script}; style-src {style}; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    )
});

/// The Content-Security-Policy of the page: its inline script and style and nothing else.
pub fn content_security_policy() -> &'static str {
    &POLICY
}

/// The document, and what the page links to.
struct Page<'a> {
    document: Document<'a>,
    /// Types that are shown once.
    shared: BTreeSet<&'a str>,
    /// The operations that show the fields of a shared type, by the type; the others are in the chapter about types.
    shown_by: BTreeMap<&'a str, String>,
    /// Problem codes that are explained.
    codes: BTreeSet<&'a str>,
    repeated: Repeated<'a>,
}

impl Page<'_> {
    /// The anchor of the place where the fields of a shared type are shown.
    fn home(&self, name: &str) -> String {
        self.shown_by.get(name).cloned().unwrap_or_else(|| format!("type-{}", anchor(name)))
    }

    /// Whether a type is in the chapter about types.
    fn is_in_types(&self, name: &str) -> bool {
        self.shared.contains(name) && !self.shown_by.contains_key(name)
    }
}

/// The page for an OpenAPI 3.1 document.
pub fn render(openapi: &Value) -> String {
    let document = Document(openapi);
    let operations = document.operations();
    let tags = document.chapters(&operations);
    let shared = document.shared();
    let in_order = tags.iter().flat_map(|(_, members)| members).map(|member| &operations[*member]);
    let page = Page {
        document,
        shown_by: document.shown_by(in_order, &shared),
        shared,
        codes: chapters::problem_codes(document),
        repeated: Repeated::of(document, &operations),
    };
    let info = openapi.get("info").unwrap_or(&Value::Null);
    let title = text(info, "title").unwrap_or("API");

    let mut html = Html::default();
    html.raw("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">");
    html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    html.raw("<meta name=\"color-scheme\" content=\"light dark\"><title>").content(title);
    html.raw(" reference</title><style>").raw(STYLE).raw("</style><script type=\"module\">").raw(SCRIPT);
    html.raw("</script></head><body><a class=\"skip\" href=\"#top\">Skip to content</a>");
    html.raw("<input type=\"checkbox\" id=\"menu\" aria-label=\"Show contents\"><label for=\"menu\">Contents</label>");
    navigation(&mut html, title, &operations, &tags);
    html.raw("<main id=\"top\">");
    introduction(&mut html, document, title, info);
    for (tag, members) in &tags {
        html.raw("<section class=\"chapter\"><h2 id=\"tag-").text(&anchor(tag)).raw("\">").content(tag).raw("</h2>");
        html.prose(document.tag_description(tag));
        members.iter().for_each(|member| page.operation(&mut html, &operations[*member]));
        html.raw("</section>");
    }
    page.problems(&mut html);
    page.common_parameters(&mut html);
    page.headers(&mut html);
    page.types(&mut html);
    html.raw("</main></body></html>");
    html.finish()
}

fn navigation(html: &mut Html, title: &str, operations: &[Operation], tags: &[(&str, Vec<usize>)]) {
    html.raw("<nav aria-label=\"Contents\"><a class=\"brand\" href=\"#top\">").content(title).raw("</a>");
    html.raw("<p class=\"search\" hidden><input type=\"search\" id=\"search\" placeholder=\"Search (press /)\" ");
    html.raw("aria-label=\"Search the reference\"><output id=\"found\" for=\"search\"></output></p>");
    html.raw("<fieldset><legend>Samples in</legend>");
    html.raw("<input type=\"radio\" name=\"language\" id=\"curl\" checked><label for=\"curl\">curl</label>");
    html.raw("<input type=\"radio\" name=\"language\" id=\"typescript\"><label for=\"typescript\">TypeScript</label>");
    html.raw("<input type=\"radio\" name=\"language\" id=\"python\"><label for=\"python\">Python</label></fieldset>");
    for (tag, members) in tags {
        html.raw("<a class=\"tag\" href=\"#tag-").text(&anchor(tag)).raw("\">").content(tag).raw("</a><ul>");
        for operation in members.iter().map(|member| &operations[*member]) {
            html.raw("<li><a href=\"#").text(&operation.anchor).raw("\"><span>").content(operation.title());
            html.raw("</span> ");
            section::method(html, operation.method);
            html.raw("</a></li>");
        }
        html.raw("</ul>");
    }
    html.raw("<a class=\"tag\" href=\"#problems\">Problems</a>");
    html.raw("<a class=\"tag\" href=\"#parameters\">Common parameters</a>");
    html.raw("<a class=\"tag\" href=\"#headers\">Response headers</a><a class=\"tag\" href=\"#types\">Types</a></nav>");
}

fn introduction(html: &mut Html, document: Document, title: &str, info: &Value) {
    html.raw("<header><h1>").content(title);
    if let Some(version) = text(info, "version") {
        html.raw(" <span class=\"version\">").content(version).raw("</span>");
    }
    html.raw("</h1>").prose(text(info, "description").unwrap_or_default());
    html.raw("<p id=\"deprecation\">Fields and operations are added at any time: ignore those you do not know. An ");
    html.raw(
        "operation that is going to end says so in the headers <code>Deprecation</code> and <code>Sunset</code>, ",
    );
    html.raw("at least six months ahead, and is marked here.</p>");
    html.raw("<dl><dt>Base address</dt><dd>").code(&document.address()).raw("</dd>");
    let schemes = document.0.pointer("/components/securitySchemes").and_then(Value::as_object);
    for (name, scheme) in schemes.into_iter().flatten() {
        html.raw("<dt>")
            .content(name)
            .raw("</dt><dd>")
            .inline(text(scheme, "description").unwrap_or_default())
            .raw("</dd>");
    }
    html.raw("</dl></header>");
}

#[cfg(test)]
mod tests;
