//! The chapters after the operations: problems, common parameters, headers and shared types.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Page;
use super::operation::Trait;
use super::schema::{Document, list, text};
use crate::html::{Html, anchor};

const PROBLEM: &str = "/components/schemas/Problem";

fn operations_with(html: &mut Html, of: Trait<'_>) {
    match of {
        Trait::Any => html.raw("Where they apply, every operation"),
        Trait::RequestBody => html.raw("Operations with a request body"),
        Trait::Parameter(place) => html.raw("Operations with ").content(place).raw(" parameters"),
        Trait::Header(name) => html.raw("Operations with the header ").code(name),
        Trait::Role(name) => html.raw("Operations for the role ").code(name),
    };
}

fn problems(document: Document<'_>) -> &[Value] {
    document.0.pointer(PROBLEM).map_or(&[], |schema| list(schema, "x-problems"))
}

/// The codes that have a paragraph in the chapter about problems.
pub fn problem_codes(document: Document<'_>) -> BTreeSet<&str> {
    problems(document).iter().filter_map(|problem| text(problem, "code")).collect()
}

impl<'a> Page<'a> {
    /// The schema of problems, and one paragraph for each code.
    pub fn problems(&self, html: &mut Html) {
        html.raw("<section class=\"chapter\"><h2 id=\"problems\">Problems</h2>");
        html.raw("<p>The body of every error (problem details, RFC 7807). Branch on <code>type</code>: it is ");
        html.raw("<code>urn:service:voice:problem:</code> and the code.</p>");
        for (of, codes) in self.repeated.codes.groups() {
            html.raw("<p>");
            operations_with(html, *of);
            html.raw(" can also respond with ");
            codes.iter().for_each(|code| self.problem_link(html, code));
            html.raw("</p>");
        }
        if let Some(schema) = self.document.0.pointer(PROBLEM) {
            self.fields(html, &self.document.fields(schema, &self.shared));
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

    pub fn common_parameters(&self, html: &mut Html) {
        html.raw("<section class=\"chapter\"><h2 id=\"parameters\">Common parameters</h2><dl>");
        for ((place, name), parameter) in &self.repeated.parameters {
            html.raw("<dt id=\"parameter-").text(&anchor(name)).raw("\">").content(name).raw("</dt><dd>");
            self.about(html, &self.parameter(parameter));
            html.raw(" <span class=\"quiet\">").content(place).raw("</span></dd>");
        }
        html.raw("</dl></section>");
    }

    pub fn headers(&self, html: &mut Html) {
        html.raw("<section class=\"chapter\"><h2 id=\"headers\">Response headers</h2>");
        for (of, names) in self.repeated.headers.groups() {
            html.raw("<p>");
            operations_with(html, *of);
            html.raw(" can respond with ");
            for name in names {
                html.raw("<a href=\"#header-").text(&anchor(name)).raw("\">").content(name).raw("</a> ");
            }
            html.raw("</p>");
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

    /// Types that many operations use, unless one of these shows their fields.
    pub fn types(&self, html: &mut Html) {
        html.raw("<section class=\"chapter\"><h2 id=\"types\">Types</h2>");
        let schemas = self.document.0.pointer("/components/schemas").and_then(Value::as_object);
        for (name, schema) in schemas.into_iter().flatten().filter(|(name, _)| self.is_in_types(name)) {
            html.raw("<h3 id=\"").text(&self.home(name)).raw("\">").content(name).raw("</h3>");
            html.prose(text(schema, "description").unwrap_or_default());
            self.fields(html, &self.document.fields(schema, &self.shared));
        }
        html.raw("</section>");
    }
}
