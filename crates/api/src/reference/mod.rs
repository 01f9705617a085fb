//! The API reference: the OpenAPI document as one HTML page.
//!
//! The page has no scripts and no external resources, so it works offline and with a strict Content-Security-Policy.
//! The contents are on the left, one chapter per tag. Each operation shows who may call it, its parameters, body and
//! responses, and a curl command to copy.
//!
//! `operation` reads operations, `schema` and `bounds` their schemas; `example` generates values and curl commands;
//! `section` renders an operation.

mod bounds;
mod example;
mod operation;
mod schema;
mod section;

use std::sync::LazyLock;

use serde_json::Value;

use super::headers::inline_source;
use super::html::{Html, anchor};
use operation::Operation;
use schema::{Document, text};

const STYLE: &str = include_str!("style.css");

static POLICY: LazyLock<String> = LazyLock::new(|| {
    let style = inline_source(STYLE);
    format!("default-src 'none'; style-src {style}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
});

/// The Content-Security-Policy of the page: its inline style and nothing else.
pub fn content_security_policy() -> &'static str {
    &POLICY
}

/// The page for an OpenAPI 3.1 document.
pub fn render(openapi: &Value) -> String {
    let document = Document(openapi);
    let operations = document.operations();
    let chapters = document.chapters(&operations);
    let problems = section::problem_schemas(document, &operations);
    let info = openapi.get("info").unwrap_or(&Value::Null);
    let title = text(info, "title").unwrap_or("API");

    let mut html = Html::default();
    html.raw("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">");
    html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    html.raw("<meta name=\"color-scheme\" content=\"light dark\"><title>").text(title).raw(" reference</title><style>");
    html.raw(STYLE).raw("</style></head><body><a class=\"skip\" href=\"#top\">Skip to content</a>");
    html.raw("<input type=\"checkbox\" id=\"menu\" aria-label=\"Show contents\"><label for=\"menu\">Contents</label>");
    navigation(&mut html, title, &operations, &chapters, !problems.is_empty());
    html.raw("<main id=\"top\">");
    introduction(&mut html, document, title, info);
    for (tag, members) in &chapters {
        html.raw("<section class=\"chapter\"><h2 id=\"tag-").text(&anchor(tag)).raw("\">").text(tag).raw("</h2>");
        html.prose(document.tag_description(tag));
        members.iter().for_each(|member| section::operation(&mut html, document, &operations[*member]));
        html.raw("</section>");
    }
    if !problems.is_empty() {
        problem_chapter(&mut html, document, &problems);
    }
    html.raw("</main></body></html>");
    html.finish()
}

fn navigation(html: &mut Html, title: &str, operations: &[Operation], chapters: &[(&str, Vec<usize>)], problems: bool) {
    html.raw("<nav aria-label=\"Contents\"><a class=\"brand\" href=\"#top\">").text(title).raw("</a>");
    for (tag, members) in chapters {
        html.raw("<a class=\"tag\" href=\"#tag-").text(&anchor(tag)).raw("\">").text(tag).raw("</a><ul>");
        for operation in members.iter().map(|member| &operations[*member]) {
            html.raw("<li><a href=\"#")
                .text(&operation.anchor)
                .raw("\"><span>")
                .text(operation.title())
                .raw("</span> ");
            section::method(html, operation.method);
            html.raw("</a></li>");
        }
        html.raw("</ul>");
    }
    if problems {
        html.raw("<a class=\"tag\" href=\"#problems\">Problems</a>");
    }
    html.raw("</nav>");
}

fn introduction(html: &mut Html, document: Document, title: &str, info: &Value) {
    html.raw("<header><h1>").text(title);
    if let Some(version) = text(info, "version") {
        html.raw(" <span class=\"version\">").text(version).raw("</span>");
    }
    html.raw("</h1>").prose(text(info, "description").unwrap_or_default());
    html.raw("<dl><dt>Base address</dt><dd>").code(&document.address()).raw("</dd>");
    let schemes = document.0.pointer("/components/securitySchemes").and_then(Value::as_object);
    for (name, scheme) in schemes.into_iter().flatten() {
        html.raw("<dt>")
            .text(name)
            .raw("</dt><dd>")
            .inline(text(scheme, "description").unwrap_or_default())
            .raw("</dd>");
    }
    html.raw("</dl></header>");
}

fn problem_chapter<'a>(html: &mut Html, document: Document<'a>, problems: &[(&'a str, &'a Value)]) {
    html.raw("<section class=\"chapter\"><h2 id=\"problems\">Problems</h2>");
    html.raw("<p>The schema of error responses (problem details, RFC 7807).</p>");
    for (name, schema) in problems {
        html.raw("<h3 id=\"schema-").text(&anchor(name)).raw("\">").text(name).raw("</h3>");
        html.prose(document.plain(schema).description.unwrap_or_default());
        section::fields(html, &document.fields(schema));
    }
    html.raw("</section>");
}

#[cfg(test)]
mod tests;
