//! One operation of the page: documentation on the left, samples on the right.

use std::collections::BTreeSet;

use serde_json::Value;

use super::operation::{Body, Operation, Trait};
use super::schema::{Bound, Field, FieldName, list, text};
use super::{Page, code};
use crate::html::{Html, anchor};
use crate::samples::Use;

const PROBLEM: &str = "application/problem+json";

impl<'a> Page<'a> {
    pub fn operation(&self, html: &mut Html, operation: &Operation<'a>) {
        html.raw("<section class=\"operation\" id=\"").text(&operation.anchor);
        html.raw("\"><div class=\"about\"><h3><a href=\"#");
        html.text(&operation.anchor).raw("\">").content(operation.title()).raw("</a></h3><p class=\"endpoint\">");
        method(html, operation.method);
        html.code(operation.path);
        if operation.is_deprecated() {
            html.raw(" <span class=\"chip\">deprecated</span>");
        }
        html.raw("</p>").prose(text(operation.node, "description").unwrap_or_default());
        self.who(html, operation);
        self.parameters(html, operation);
        if let Some(body) = operation.request(self.document) {
            html.raw("<h4>Request body</h4>");
            self.body(html, &body, None);
        }
        self.responses(html, operation);
        html.raw("</div><div class=\"samples\">");
        self.samples(html, operation);
        html.raw("</div></section>");
    }

    fn who(&self, html: &mut Html, operation: &Operation<'a>) {
        html.raw("<p class=\"who\">");
        let roles = operation.roles();
        for role in &roles {
            html.raw("<span class=\"chip\">").content(role).raw("</span> ");
        }
        let needs_sign_in = operation.needs_sign_in(self.document);
        match (needs_sign_in, roles.is_empty()) {
            (false, true) => html.content("anyone, no token required"),
            (true, true) => html.content("any signed-in user"),
            _ => html,
        };
        if needs_sign_in {
            let schemes = operation.sign_in(self.document).join(" or ");
            html.raw(" <span class=\"quiet\">with ").content(&schemes).raw("</span>");
        }
        html.raw("</p>");
    }

    fn parameters(&self, html: &mut Html, operation: &Operation<'a>) {
        for (place, title) in [("path", "Path"), ("query", "Query"), ("header", "Headers"), ("cookie", "Cookies")] {
            let parameters = operation.parameters(self.document).into_iter();
            let here = parameters.filter(|parameter| text(parameter, "in") == Some(place));
            let (common, own): (Vec<_>, Vec<_>) = here.partition(|parameter| self.repeated.has_parameter(parameter));
            if !common.is_empty() || !own.is_empty() {
                html.raw("<h4>").content(title).raw("</h4>");
                self.fields(html, &own.into_iter().map(|parameter| self.parameter(parameter)).collect::<Vec<_>>());
                common.into_iter().for_each(|parameter| parameter_link(html, parameter));
            }
        }
    }

    pub fn parameter(&self, parameter: &'a Value) -> Field {
        let schema = parameter.get("schema").unwrap_or(&Value::Null);
        let field = self.document.field(schema, &self.shared);
        Field {
            name: FieldName::Named(text(parameter, "name").unwrap_or_default().to_owned()),
            required: parameter.get("required") == Some(&Value::Bool(true)),
            description: text(parameter, "description").unwrap_or(&field.description).to_owned(),
            ..field
        }
    }

    /// Successes with their bodies, then the problem codes by status.
    fn responses(&self, html: &mut Html, operation: &Operation<'a>) {
        let is_problem = |body: &Body<'_>| body.content.is_some_and(|(media_type, _)| media_type == PROBLEM);
        let (problems, others): (Vec<_>, Vec<_>) =
            operation.responses(self.document).into_iter().partition(|(_, body)| is_problem(body));
        html.raw("<h4>Responses</h4>");
        for (status, body) in &others {
            self.response(html, operation, status, body);
        }
        if !problems.is_empty() {
            self.problem_responses(html, &problems, &operation.traits(self.document));
        }
    }

    fn problem_responses(&self, html: &mut Html, problems: &[(&str, Body<'a>)], traits: &BTreeSet<Trait<'a>>) {
        let own = problems.iter().map(|(status, body)| {
            let codes = list(body.node, "x-problem-codes").iter().filter_map(Value::as_str);
            (*status, codes.filter(|code| !self.repeated.codes.has(traits, code)).collect::<Vec<_>>())
        });
        let own: Vec<_> = own.filter(|(_, codes)| !codes.is_empty()).collect();
        let has_common = !self.repeated.codes.is_empty();
        if own.is_empty() {
            html.raw(if has_common {
                "<p class=\"response\"><a href=\"#problems\">Common problems</a></p>"
            } else {
                ""
            });
            return;
        }
        html.raw("<details class=\"response\"><summary>Problems</summary><dl class=\"problems\">");
        for (status, codes) in own {
            html.raw("<dt>").content(status).raw("<dd>");
            codes.iter().for_each(|code| self.problem_link(html, code));
        }
        html.raw(if has_common { "<dt>Any<dd><a href=\"#problems\">common problems</a>" } else { "" });
        html.raw("</dl></details>");
    }

    pub fn problem_link(&self, html: &mut Html, code: &str) {
        if self.codes.contains(code) {
            html.raw("<a href=\"#problem-").text(&anchor(code)).raw("\">").content(code).raw("</a> ");
        } else {
            html.code(code).raw(" ");
        }
    }

    fn response(&self, html: &mut Html, operation: &Operation<'a>, status: &str, body: &Body<'a>) {
        let class = status.get(..1).unwrap_or_default();
        html.raw(if class == "2" { "<details class=\"response\" open>" } else { "<details class=\"response\">" });
        html.raw("<summary><span class=\"status s").text(&anchor(class)).raw("\">").content(status).raw("</span> ");
        html.inline(text(body.node, "description").unwrap_or_default());
        html.raw("</summary>");
        self.response_headers(html, body.node, &operation.traits(self.document));
        self.body(html, body, Some(&operation.anchor));
        html.raw("</details>");
    }

    fn response_headers(&self, html: &mut Html, response: &'a Value, traits: &BTreeSet<Trait<'a>>) {
        let headers = response.get("headers").and_then(Value::as_object).into_iter().flatten();
        let headers: Vec<_> = headers.filter(|(name, _)| !self.repeated.headers.has(traits, name)).collect();
        if headers.is_empty() {
            return;
        }
        html.raw("<p class=\"headers\">");
        for (name, header) in headers {
            if text(header, "$ref").is_some() {
                html.raw("<a href=\"#header-").text(&anchor(name)).raw("\">").content(name).raw("</a> ");
            } else {
                html.code(name).raw(" ");
            }
        }
        html.raw("</p>");
    }

    /// The type of a body and its fields. Those of a response (of the operation with this anchor) can be shown
    /// elsewhere, where the type links to.
    fn body(&self, html: &mut Html, body: &Body<'a>, response_of: Option<&str>) {
        let Some((_, schema)) = body.content else { return };
        let field = self.document.field(schema, &self.shared);
        html.raw("<p class=\"body\">");
        self.kind(html, &field);
        let types: Vec<&str> = body.media_types().collect();
        html.raw(" <span class=\"quiet\">").content(&types.join(", ")).raw("</span></p>");
        let is_elsewhere = |name: String| response_of.is_some_and(|anchor| self.home(&name) != anchor);
        if !field.link.is_some_and(is_elsewhere) {
            self.fields(html, &self.document.fields(schema, &self.shared));
        }
    }

    fn samples(&self, html: &mut Html, operation: &Operation<'a>) {
        let request = self.document.sample_request(operation);
        html.raw("<figure class=\"request\"><figcaption>Request</figcaption><pre class=\"curl\">");
        html.content(&code::curl(&request)).raw("</pre><pre class=\"typescript\">");
        html.content(&code::typescript(&request)).raw("</pre><pre class=\"python\">");
        html.content(&code::python(&request)).raw("</pre></figure>");
        let good = operation.responses(self.document).into_iter().find(|(status, _)| status.starts_with('2'));
        let Some((status, body)) = good else { return };
        html.raw("<figure><figcaption>Response <span class=\"status s2\">").content(status);
        html.raw("</span></figcaption>");
        match body.content {
            Some((media_type, schema)) if media_type.ends_with("json") => {
                let sample = self.document.samples(Use::Response).of(schema);
                let sample = serde_json::to_string_pretty(&sample).unwrap_or_default();
                html.raw("<pre>").content(&sample).raw("</pre>");
            }
            Some((media_type, _)) => {
                html.raw("<p class=\"empty\">").content(media_type).raw("</p>");
            }
            None => {
                html.raw("<p class=\"empty\">no body</p>");
            }
        }
        html.raw("</figure>");
    }

    pub fn fields(&self, html: &mut Html, rows: &[Field]) {
        const INDENTS: [&str; 6] = [
            "<tr>",
            "<tr class=\"in1\">",
            "<tr class=\"in2\">",
            "<tr class=\"in3\">",
            "<tr class=\"in4\">",
            "<tr class=\"in5\">",
        ];
        if rows.is_empty() {
            return;
        }
        html.raw("<table><thead><tr><th>Name<th>Type<th>Description<tbody>");
        for row in rows {
            html.raw(INDENTS[row.depth.min(INDENTS.len() - 1)]).raw("<td>");
            match &row.name {
                FieldName::Named(name) => html.code(name),
                FieldName::AnyKey => html.raw("<em>any key</em>"),
                FieldName::Form { name, first } => html
                    .raw(if *first { "<em>either</em> " } else { "<em>or</em> " })
                    .raw("<strong>")
                    .content(name)
                    .raw("</strong>"),
            };
            if row.required {
                html.raw(" <i>required</i>");
            }
            html.raw("<td>");
            if row.link.is_some() || !matches!(&row.name, FieldName::Form { name, .. } if *name == row.kind) {
                self.kind(html, row);
            }
            row.bounds.iter().for_each(|it| bound(html, it));
            html.raw("<td>").inline(&row.description);
        }
        html.raw("</table>");
    }

    /// Type, constraints and description of a value.
    pub fn about(&self, html: &mut Html, field: &Field) {
        self.kind(html, field);
        field.bounds.iter().for_each(|it| bound(html, it));
        html.raw(" ").inline(&field.description);
    }

    /// The type of a value, with a link if it is shown elsewhere.
    fn kind(&self, html: &mut Html, field: &Field) {
        match &field.link {
            Some(name) => {
                html.raw("<a href=\"#").text(&self.home(name)).raw("\">").content(&field.kind).raw("</a>");
            }
            None => {
                html.raw("<b>").content(&field.kind).raw("</b>");
            }
        }
    }
}

fn parameter_link(html: &mut Html, parameter: &Value) {
    let name = text(parameter, "name").unwrap_or_default();
    html.raw("<p><a href=\"#parameter-").text(&anchor(name)).raw("\">").content(name).raw("</a>");
    html.raw(if parameter.get("required") == Some(&Value::Bool(true)) { " <i>required</i></p>" } else { "</p>" });
}

pub fn method(html: &mut Html, method: &str) {
    html.raw("<span class=\"method ").text(&anchor(method)).raw("\">").content(&method.to_uppercase()).raw("</span> ");
}

fn bound(html: &mut Html, bound: &Bound) {
    html.raw("<small>").content(&bound.words);
    for value in &bound.values {
        html.raw(" ").code(value);
    }
    html.raw("</small>");
}
