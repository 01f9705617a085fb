//! The sample request of an operation, from which `code` writes commands and programs.

use serde_json::Value;

use super::operation::Operation;
use super::schema::{Document, list, text};
use crate::samples::{Place, Samples, Use};

/// The host of examples if the server address is only a path.
const HOST: &str = "https://trunkline.example";

pub struct SampleRequest<'a> {
    /// In upper case.
    pub method: String,
    pub url: String,
    pub needs_token: bool,
    /// Required headers besides the token and the type of the body.
    pub headers: Vec<(&'a str, String)>,
    pub body: SampleBody<'a>,
    pub answer: SampleAnswer,
}

pub enum SampleBody<'a> {
    None,
    Json(Value),
    /// Names and values; a value that begins with `@` is a file.
    Form(Vec<(String, String)>),
    File {
        media_type: &'a str,
        name: &'static str,
    },
}

/// What a program can read from a success.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SampleAnswer {
    None,
    Json,
    Text,
    /// Parts that keep coming.
    Stream,
}

impl<'a> Document<'a> {
    pub fn sample_request(self, operation: &Operation<'a>) -> SampleRequest<'a> {
        let mut url = self.address();
        url.push_str(operation.path);
        let mut headers = Vec::new();
        let mut separator = '?';
        for parameter in operation.parameters(self) {
            let (Some(name), Some(place)) = (text(parameter, "name"), text(parameter, "in")) else { continue };
            let value = self.parameter_sample(operation, name, parameter);
            let required = parameter.get("required") == Some(&Value::Bool(true));
            match place {
                "path" => url = url.replace(&format!("{{{name}}}"), &encoded(&value)),
                "query" if required => {
                    url.push_str(&format!("{separator}{name}={}", encoded(&value)));
                    separator = '&';
                }
                "header" if required => headers.push((name, value)),
                _ => {}
            }
        }
        SampleRequest {
            method: operation.method.to_uppercase(),
            url,
            needs_token: operation.needs_sign_in(self),
            headers,
            body: self.sample_body(operation),
            answer: self.sample_answer(operation),
        }
    }

    fn sample_body(self, operation: &Operation<'a>) -> SampleBody<'a> {
        let Some(body) = operation.request(self) else { return SampleBody::None };
        let Some((media_type, schema)) = body.content else { return SampleBody::None };
        let given = body.node.get("content").and_then(|content| content.get(media_type)?.get("example"));
        let sample = || given.cloned().unwrap_or_else(|| self.samples(Use::Request).of(schema));
        match media_type {
            "multipart/form-data" => {
                let Value::Object(parts) = sample() else { return SampleBody::None };
                SampleBody::Form(parts.into_iter().map(|(name, value)| (name, plain_text(&value))).collect())
            }
            _ if media_type.ends_with("json") => SampleBody::Json(sample()),
            "text/csv" => SampleBody::File { media_type, name: "table.csv" },
            _ => SampleBody::File { media_type, name: "document.pdf" },
        }
    }

    fn sample_answer(self, operation: &Operation<'a>) -> SampleAnswer {
        let good = operation.responses(self).into_iter().find(|(status, _)| status.starts_with('2'));
        match good.and_then(|(_, body)| body.content) {
            Some((media_type, _)) if media_type.ends_with("json") => SampleAnswer::Json,
            Some(("text/event-stream", _)) => SampleAnswer::Stream,
            Some(_) => SampleAnswer::Text,
            None => SampleAnswer::None,
        }
    }

    pub fn samples(self, usage: Use) -> Samples<'a> {
        Samples { document: self, usage }
    }

    /// The base URL, without a slash at the end.
    pub fn address(self) -> String {
        let url = list(self.0, "servers").first().and_then(|server| text(server, "url")).unwrap_or_default();
        let host = if url.contains("://") { "" } else { HOST };
        format!("{host}{}", url.trim_end_matches('/'))
    }

    fn parameter_sample(self, operation: &Operation<'a>, name: &'a str, parameter: &'a Value) -> String {
        let owner = owner(operation.path, name);
        let generated = || {
            let schema = parameter.get("schema")?;
            Some(self.samples(Use::Request).at(schema, Place { owner, field: name }))
        };
        let value = parameter.get("example").cloned().or_else(generated).unwrap_or_default();
        plain_text(&value)
    }
}

/// What the parameter of a path names: `trunk` of `/trunks/{id}`.
fn owner<'p>(path: &'p str, name: &str) -> &'p str {
    let before = path.split('/').zip(path.split('/').skip(1));
    let found = before.into_iter().find(|(_, part)| part.trim_matches(['{', '}']) == name);
    found.map(|(before, _)| before.trim_end_matches('s')).unwrap_or_default()
}

fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A value in a URL.
fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, KEPT).to_string()
}

const KEPT: &percent_encoding::AsciiSet =
    &percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b':');
