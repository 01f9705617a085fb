//! HTML pages outside `/v1` that are rendered on request: GET shows the page, POST submits its form. They have no
//! scripts. Problems are rendered as pages too.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use hyper::StatusCode;
use hyper::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};

use super::headers::inline_source;
use super::html::Html;
use super::incoming_body::IncomingBody;
use super::input::{media_type, read_body};
use super::problem::Problem;
use super::response::{Response, full};
use platform::app::App;

const MAX_FORM_BYTES: usize = 8 * 1024;
const FORM: &str = "application/x-www-form-urlencoded";

const STYLE: &str = include_str!("screen.css");

pub type Show = fn(Visit) -> BoxFuture<'static, Result<Response, Problem>>;

/// A page and its path.
pub struct Screen {
    /// The full path, with names in braces.
    pub path: &'static str,
    pub show: Show,
    pub submit: Option<Show>,
}

/// A request for a page.
pub struct Visit {
    pub app: App,
    pub path_values: Vec<String>,
    /// Empty with GET.
    pub form: Form,
}

/// The submitted fields of a form.
#[derive(Default)]
pub struct Form(Vec<(String, String)>);

impl Form {
    pub(super) async fn read(headers: &HeaderMap, body: IncomingBody) -> Result<Form, Problem> {
        if media_type(headers) != Some(FORM.to_owned()) {
            return Err(Problem::unsupported_media_type(FORM));
        }
        Ok(Form::parse(&read_body(body, MAX_FORM_BYTES).await?))
    }

    fn parse(body: &[u8]) -> Form {
        Form(form_urlencoded::parse(body).map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    /// The first field of this name, unless it is empty.
    pub fn field(&self, name: &str) -> Option<&str> {
        let field = self.0.iter().find(|(known, _)| known == name);
        field.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }
}

/// A page with this content. `form_targets` are the other origins to which the form's response may redirect.
pub fn page(
    status: StatusCode,
    title: &str,
    content: impl FnOnce(&mut Html),
    form_targets: &[String],
) -> Result<Response, Problem> {
    let mut html = Html::default();
    html.raw("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">");
    html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    html.raw("<meta name=\"color-scheme\" content=\"light dark\"><meta name=\"robots\" content=\"noindex\"><title>");
    html.text(title).raw(" · Trunkline</title><style>").raw(STYLE).raw("</style></head><body><main>");
    html.raw("<p class=\"brand\">Trunkline</p><h1>").text(title).raw("</h1>");
    content(&mut html);
    html.raw("</main></body></html>");
    let style = inline_source(STYLE);
    let targets: String = form_targets.iter().map(|origin| format!(" {origin}")).collect();
    let policy = format!(
        "default-src 'none'; style-src {style}; form-action 'self'{targets}; base-uri 'none'; frame-ancestors 'none'"
    );
    let mut response = full(status, Bytes::from(html.finish()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_str(&policy).map_err(Problem::internal)?);
    Ok(response)
}

/// Redirects after a form was submitted; the browser follows with GET.
pub fn see_other(address: &str) -> Result<Response, Problem> {
    let mut response = full(StatusCode::SEE_OTHER, "");
    response.headers_mut().insert(LOCATION, HeaderValue::from_str(address).map_err(Problem::internal)?);
    Ok(response)
}

/// A problem as a page.
pub(super) fn problem_page(problem: &Problem, request_id: &str) -> Result<Response, Problem> {
    let code = problem.code();
    page(
        code.status(),
        code.title(),
        |html| {
            html.raw("<p>").text(problem.detail().unwrap_or_default()).raw("</p><p class=\"hint\">Request ");
            html.text(request_id).raw("</p>");
        },
        &[],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_the_first_of_its_name_and_empty_fields_are_none() {
        let form = Form::parse(b"card=+4242+4242&card=x&action=&note=a%26b");
        assert_eq!(form.field("card"), Some("4242 4242"));
        assert_eq!(form.field("action"), None);
        assert_eq!(form.field("note"), Some("a&b"));
    }
}
