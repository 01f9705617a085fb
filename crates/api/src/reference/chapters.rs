//! The chapters after the operations: problems, headers and shared types.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::operation::Operation;
use super::schema::{Document, list, text};
use super::{MANY, Page, section};
use crate::html::{Html, anchor};

const PROBLEM: &str = "/components/schemas/Problem";

fn problems(document: Document<'_>) -> &[Value] {
    document.0.pointer(PROBLEM).map_or(&[], |schema| list(schema, "x-problems"))
}

/// The codes that have a paragraph in the chapter about problems.
pub fn problem_codes(document: Document<'_>) -> BTreeSet<&str> {
    problems(document).iter().filter_map(|problem| text(problem, "code")).collect()
}

/// The headers that many operations accept, each as an operation describes it that requires it, if one does.
pub fn request_headers<'a>(document: Document<'a>, operations: &[Operation<'a>]) -> BTreeMap<&'a str, &'a str> {
    let mut headers: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    let parameters = operations.iter().flat_map(|operation| operation.parameters(document));
    for parameter in parameters.filter(|parameter| text(parameter, "in") == Some("header")) {
        let (count, description) = headers.entry(text(parameter, "name").unwrap_or_default()).or_default();
        *count += 1;
        if *count == 1 || parameter.get("required") == Some(&Value::Bool(true)) {
            *description = text(parameter, "description").unwrap_or_default();
        }
    }
    let many = headers.into_iter().filter(|(_, (count, _))| *count >= MANY);
    many.map(|(name, (_, description))| (name, description)).collect()
}

impl<'a> Page<'a> {
    /// The schema of problems, and one paragraph for each code.
    pub fn problems(&self, html: &mut Html) {
        html.raw("<section class=\"chapter\"><h2 id=\"problems\">Problems</h2>");
        html.raw("<p>The body of every error (problem details, RFC 7807). Branch on <code>type</code>: it is ");
        html.raw("<code>urn:service:voice:problem:</code> and the code.</p>");
        if !self.common_codes.is_empty() {
            html.raw("<p>Where they apply, every operation can also respond with ");
            self.common_codes.iter().for_each(|code| self.problem_link(html, code));
            html.raw("</p>");
        }
        if !self.body_codes.is_empty() {
            html.raw("<p>Operations with a request body can also respond with ");
            self.body_codes.iter().for_each(|code| self.problem_link(html, code));
            html.raw("</p>");
        }
        if let Some(schema) = self.document.0.pointer(PROBLEM) {
            section::fields(html, &self.document.fields(schema, &self.shared));
        }
        for problem in problems(self.document) {
            let part = |key: &str| text(problem, key).unwrap_or_default();
            let status = problem.get("status").map(Value::to_string).unwrap_or_default();
            html.raw("<h3 id=\"problem-").text(&anchor(part("code"))).raw("\"><code>").content(part("code"));
            html.raw("</code> <span class=\"status\">").content(&status).raw("</span></h3>");
            html.raw("<p><strong>").content(part("title")).raw(".</strong> ").inline(part("description")).raw("</p>");
        }
        html.raw("</section>");
    }

    pub fn request_headers(&self, html: &mut Html) {
        html.raw("<section class=\"chapter\"><h2 id=\"request-headers\">Request headers</h2><dl>");
        for (name, description) in &self.request_headers {
            html.raw("<dt id=\"request-header-").text(&anchor(name)).raw("\">").content(name).raw("</dt><dd>");
            html.inline(description).raw("</dd>");
        }
        html.raw("</dl></section>");
    }

    pub fn headers(&self, html: &mut Html) {
        html.raw("<section class=\"chapter\"><h2 id=\"headers\">Response headers</h2>");
        if !self.common_headers.is_empty() {
            html.raw("<p>Successes have ");
            for name in &self.common_headers {
                html.code(name).raw(" ");
            }
            html.raw("and those that the operation lists.</p>");
        }
        html.raw("<dl>");
        let headers = self.document.0.pointer("/components/headers").and_then(Value::as_object);
        for (name, header) in headers.into_iter().flatten() {
            html.raw("<dt id=\"header-").text(&anchor(name)).raw("\">").content(name).raw("</dt><dd>");
            html.inline(text(header, "description").unwrap_or_default());
            if let Some(example) = text(header, "example") {
                html.raw(" Such as ").code(example).raw(".");
            }
            html.raw("</dd>");
        }
        html.raw("</dl></section>");
    }

    /// Types that many operations use.
    pub fn types(&self, html: &mut Html) {
        html.raw("<section class=\"chapter\"><h2 id=\"types\">Types</h2>");
        let schemas = self.document.0.pointer("/components/schemas").and_then(Value::as_object);
        for (name, schema) in schemas.into_iter().flatten().filter(|(name, _)| self.shared.contains(name.as_str())) {
            html.raw("<h3 id=\"type-").text(&anchor(name)).raw("\">").content(name).raw("</h3>");
            html.prose(text(schema, "description").unwrap_or_default());
            section::fields(html, &self.document.fields(schema, &self.shared));
        }
        html.raw("</section>");
    }
}
