//! Problems in place of the answers that hyper gives itself.
//!
//! What is not valid HTTP, or has too many or too large headers, never becomes a request: hyper answers it with a head
//! and no body, and has no hook to change that. Such an answer is recognised when it is written, since only it has no
//! `X-Request-Id`, and a problem is written instead.

use std::fmt::Write;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use hyper::header::HeaderMap;
use tokio::io::AsyncWrite;

use super::headers::{self, RequestIds};
use super::problem::Problem;

/// Replaces the answers of one connection.
pub struct BareAnswers {
    request_ids: Arc<RequestIds>,
    /// What is left to write, and the length of what it replaces.
    replacement: Option<(Bytes, usize)>,
}

impl BareAnswers {
    pub fn new(request_ids: Arc<RequestIds>) -> BareAnswers {
        BareAnswers { request_ids, replacement: None }
    }

    /// Whether a problem is to be written in place of these bytes.
    pub fn replaces(&mut self, bytes: &[u8]) -> bool {
        if self.replacement.is_none() {
            self.replacement = problem(bytes).map(|problem| (self.render(&problem, bytes), bytes.len()));
        }
        self.replacement.is_some()
    }

    /// Writes the problem, and then returns the length of what it replaces.
    pub fn poll_write<S: AsyncWrite + Unpin>(
        &mut self,
        context: &mut Context<'_>,
        stream: &mut S,
    ) -> Poll<io::Result<usize>> {
        let Some((left, replaced)) = &mut self.replacement else { return Poll::Ready(Ok(0)) };
        while left.has_remaining() {
            match ready!(Pin::new(&mut *stream).poll_write(context, left))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => left.advance(written),
            }
        }
        let replaced = *replaced;
        self.replacement = None;
        Poll::Ready(Ok(replaced))
    }

    fn render(&self, problem: &Problem, bare: &[u8]) -> Bytes {
        let request_id = self.request_ids.of(&HeaderMap::new());
        // There is no path: the request line may be what is wrong.
        let (mut fields, body) = problem.render_parts("", &request_id);
        headers::finish(&mut fields, &request_id);
        let mut head = format!("HTTP/1.1 {}\r\n", problem.code().status());
        for (name, value) in &fields {
            let _ = write!(head, "{name}: {}\r\n", value.to_str().unwrap_or_default());
        }
        let bare = std::str::from_utf8(bare).unwrap_or_default();
        if let Some(date) = bare.lines().find(|line| line.starts_with("date: ")) {
            let _ = write!(head, "{date}\r\n");
        }
        let _ = write!(head, "content-length: {}\r\nconnection: close\r\n\r\n", body.len());
        [head.as_bytes(), &body].concat().into()
    }
}

/// The problem of an answer of hyper's own.
fn problem(bytes: &[u8]) -> Option<Problem> {
    let head = std::str::from_utf8(bytes).ok()?;
    let is_bare = head.ends_with("\r\n\r\n") && !head.contains("\r\nx-request-id: ");
    match head.split_once(' ').filter(|_| is_bare)? {
        ("HTTP/1.1", rest) if rest.starts_with("400 ") => Some(Problem::malformed("The request is not valid HTTP.")),
        ("HTTP/1.1", rest) if rest.starts_with("431 ") => Some(Problem::headers_too_large()),
        _ => None,
    }
}
