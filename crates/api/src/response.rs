//! The response type and its body.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::stream::BoxStream;
use hyper::StatusCode;
use hyper::body::{Frame, SizeHint};

/// Whole in memory, or a stream such as a download.
pub enum Body {
    Whole(Option<Bytes>),
    Stream(BoxStream<'static, io::Result<Bytes>>),
}

pub type Response = hyper::Response<Body>;

/// A response with a body in memory.
pub fn full(status: StatusCode, body: impl Into<Bytes>) -> Response {
    let body = body.into();
    let mut response = Response::new(Body::Whole(Some(body).filter(|body| !body.is_empty())));
    *response.status_mut() = status;
    response
}

/// The response to HEAD, from the response to GET.
pub fn without_body(response: Response) -> Response {
    let (mut head, body) = response.into_parts();
    if let Some(length) = hyper::body::Body::size_hint(&body).exact() {
        head.headers.insert(hyper::header::CONTENT_LENGTH, length.into());
    }
    let mut empty = full(head.status, "");
    *empty.headers_mut() = head.headers;
    empty
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match self.get_mut() {
            Body::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Body::Stream(stream) => {
                stream.as_mut().poll_next(context).map(|next| next.map(|part| part.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Body::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Body::Stream(_) => SizeHint::default(),
        }
    }
}
