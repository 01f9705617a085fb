//! One operation of the page: documentation on the left, examples on the right.

use serde_json::Value;

use super::operation::{Body, Operation};
use super::schema::{Bound, Document, Field, FieldName, list, text};
use crate::html::{Html, anchor};

const PROBLEM: &str = "application/problem+json";

pub fn operation<'a>(html: &mut Html, document: Document<'a>, operation: &Operation<'a>) {
    html.raw("<section class=\"operation\" id=\"")
        .text(&operation.anchor)
        .raw("\"><div class=\"about\"><h3><a href=\"#");
    html.text(&operation.anchor).raw("\">").text(operation.title()).raw("</a></h3><p class=\"endpoint\">");
    method(html, operation.method);
    html.code(operation.path).raw("</p>");
    html.prose(text(operation.node, "description").unwrap_or_default());
    who(html, document, operation);
    parameters(html, document, operation);
    if let Some(body) = operation.request(document) {
        html.raw("<h4>Request body</h4>");
        described_body(html, document, &body);
    }
    html.raw("<h4>Responses</h4>");
    for (status, body) in operation.responses(document) {
        response(html, document, status, &body);
    }
    html.raw("</div><div class=\"samples\">");
    samples(html, document, operation);
    html.raw("</div></section>");
}

pub fn method(html: &mut Html, method: &str) {
    html.raw("<span class=\"method ").text(&anchor(method)).raw("\">").text(&method.to_uppercase()).raw("</span> ");
}

fn who<'a>(html: &mut Html, document: Document<'a>, operation: &Operation<'a>) {
    html.raw("<p class=\"who\"><span class=\"label\">Who may call</span> ");
    let roles = operation.roles();
    for role in &roles {
        html.raw("<span class=\"chip\">").text(role).raw("</span> ");
    }
    match (operation.needs_sign_in(document), roles.is_empty()) {
        (false, true) => html.text("anyone, no token required"),
        (true, true) => html.text("any signed-in user"),
        _ => html,
    };
    if operation.needs_sign_in(document) {
        html.raw(" <span class=\"quiet\">with ").text(&operation.sign_in(document).join(" or ")).raw("</span>");
    }
    html.raw("</p>");
}

fn parameters<'a>(html: &mut Html, document: Document<'a>, operation: &Operation<'a>) {
    for (place, title) in [("path", "Path"), ("query", "Query"), ("header", "Headers"), ("cookie", "Cookies")] {
        let parameters = operation.parameters(document);
        let rows: Vec<Field> = parameters
            .into_iter()
            .filter(|parameter| text(parameter, "in") == Some(place))
            .map(|parameter| parameter_field(document, parameter))
            .collect();
        if !rows.is_empty() {
            html.raw("<h4>").text(title).raw("</h4>");
            fields(html, &rows);
        }
    }
}

fn parameter_field<'a>(document: Document<'a>, parameter: &'a Value) -> Field {
    let schema = parameter.get("schema").unwrap_or(&Value::Null);
    let description = text(parameter, "description").or(document.plain(schema).description).unwrap_or_default();
    Field {
        depth: 0,
        name: FieldName::Named(text(parameter, "name").unwrap_or_default().to_owned()),
        kind: document.kind(schema),
        required: parameter.get("required") == Some(&Value::Bool(true)),
        bounds: document.bounds(schema),
        description: description.to_owned(),
    }
}

fn response<'a>(html: &mut Html, document: Document<'a>, status: &str, body: &Body<'a>) {
    let class = status.get(..1).unwrap_or_default();
    let good = class == "2";
    html.raw(if good { "<details class=\"response\" open>" } else { "<details class=\"response\">" });
    html.raw("<summary><span class=\"status s").text(&anchor(class)).raw("\">").text(status).raw("</span> ");
    html.inline(text(body.node, "description").unwrap_or_default());
    html.raw("</summary>");
    let codes = list(body.node, "x-problem-codes");
    if !codes.is_empty() {
        html.raw("<p class=\"codes\"><span class=\"label\">Problem codes</span> ");
        for code in codes.iter().filter_map(Value::as_str) {
            html.code(code).raw(" ");
        }
        html.raw("</p>");
    }
    response_headers(html, document, body.node);
    described_body(html, document, body);
    html.raw("</details>");
}

fn response_headers<'a>(html: &mut Html, document: Document<'a>, response: &'a Value) {
    let headers = response.get("headers").and_then(Value::as_object).into_iter().flatten();
    let rows: Vec<Field> = headers
        .map(|(name, header)| {
            let field = parameter_field(document, document.resolve(header));
            Field { name: FieldName::Named(name.clone()), ..field }
        })
        .collect();
    if !rows.is_empty() {
        html.raw("<p class=\"label\">Headers</p>");
        fields(html, &rows);
    }
}

fn described_body<'a>(html: &mut Html, document: Document<'a>, body: &Body<'a>) {
    let Some((media_type, schema)) = body.content else { return };
    let problem = named_problem(document, body);
    html.raw("<p class=\"body\">");
    match problem {
        Some((name, _)) => html.raw("<a href=\"#schema-").text(&anchor(name)).raw("\">").text(name).raw("</a> "),
        None => html.raw("<span class=\"kind\">").text(&document.kind(schema)).raw("</span> "),
    };
    html.raw("<span class=\"quiet\">").text(media_type).raw("</span></p>");
    if problem.is_none() {
        fields(html, &document.fields(schema));
    }
}

/// The schema of problems is shown once; responses link to it.
fn named_problem<'a>(document: Document<'a>, body: &Body<'a>) -> Option<(&'a str, &'a Value)> {
    let (media_type, schema) = body.content?;
    let name = document.plain(schema).name?;
    (media_type == PROBLEM).then_some((name, schema))
}

/// The problem schemas that responses link to.
pub fn problem_schemas<'a>(document: Document<'a>, operations: &[Operation<'a>]) -> Vec<(&'a str, &'a Value)> {
    let mut schemas: Vec<(&str, &Value)> = Vec::new();
    for (_, body) in operations.iter().flat_map(|operation| operation.responses(document)) {
        let Some((name, schema)) = named_problem(document, &body) else { continue };
        if !schemas.iter().any(|(known, _)| *known == name) {
            schemas.push((name, schema));
        }
    }
    schemas
}

pub fn fields(html: &mut Html, rows: &[Field]) {
    const INDENTS: [&str; 6] = [
        "<tr class=\"in0\">",
        "<tr class=\"in1\">",
        "<tr class=\"in2\">",
        "<tr class=\"in3\">",
        "<tr class=\"in4\">",
        "<tr class=\"in5\">",
    ];
    if rows.is_empty() {
        return;
    }
    html.raw("<table><thead><tr><th>Name</th><th>Type</th><th>Description</th></tr></thead><tbody>");
    for row in rows {
        html.raw(INDENTS[row.depth.min(INDENTS.len() - 1)]).raw("<td class=\"name\">");
        match &row.name {
            FieldName::Named(name) => html.code(name),
            FieldName::AnyKey => html.raw("<em>any key</em>"),
            FieldName::Form { name, first } => html
                .raw(if *first { "<em>either</em> " } else { "<em>or</em> " })
                .raw("<strong>")
                .text(name)
                .raw("</strong>"),
        };
        html.raw(if row.required { " <span class=\"required\">required</span></td>" } else { "</td>" });
        html.raw("<td class=\"type\">");
        if !matches!(&row.name, FieldName::Form { name, .. } if *name == row.kind) {
            html.raw("<span class=\"kind\">").text(&row.kind).raw("</span>");
        }
        row.bounds.iter().for_each(|bound| self::bound(html, bound));
        html.raw("</td><td>").inline(&row.description).raw("</td></tr>");
    }
    html.raw("</tbody></table>");
}

fn bound(html: &mut Html, bound: &Bound) {
    html.raw("<span class=\"bound\">").text(&bound.words);
    for value in &bound.values {
        html.raw(" ").code(value);
    }
    html.raw("</span>");
}

fn samples<'a>(html: &mut Html, document: Document<'a>, operation: &Operation<'a>) {
    html.raw("<figure><figcaption>Request</figcaption><pre><code>")
        .text(&document.curl(operation))
        .raw("</code></pre></figure>");
    let good = operation.responses(document).into_iter().find(|(status, _)| status.starts_with('2'));
    let Some((status, body)) = good else { return };
    html.raw("<figure><figcaption>Response <span class=\"status s2\">").text(status).raw("</span></figcaption>");
    match body.content {
        Some((media_type, schema)) if media_type.ends_with("json") => {
            let sample = serde_json::to_string_pretty(&document.example(schema)).unwrap_or_default();
            html.raw("<pre><code>").text(&sample).raw("</code></pre>");
        }
        Some((media_type, _)) => {
            html.raw("<p class=\"empty\">").text(media_type).raw("</p>");
        }
        None => {
            html.raw("<p class=\"empty\">no body</p>");
        }
    }
    html.raw("</figure>");
}
