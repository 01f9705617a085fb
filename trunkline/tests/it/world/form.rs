//! Multipart forms, and files to upload.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use reqwest::Method;

use super::client::{Answer, Client};

const BOUNDARY: &str = "a-boundary-that-is-in-no-file";

/// A `multipart/form-data` body, written by hand so that it can also be wrong.
#[derive(Clone, Default)]
pub struct Form(Vec<u8>);

impl Form {
    /// What every upload of a document has.
    pub fn document(kind: &str, file_name: &str, content: &[u8]) -> Form {
        Form::default().text("doc_kind", kind).file("file", file_name, content)
    }

    pub fn text(self, name: &str, text: &str) -> Form {
        self.part(&format!("name=\"{name}\""), text.as_bytes())
    }

    pub fn file(self, name: &str, file_name: &str, content: &[u8]) -> Form {
        self.part(&format!("name=\"{name}\"; filename=\"{file_name}\""), content)
    }

    fn part(mut self, disposition: &str, content: &[u8]) -> Form {
        self.0.extend(format!("--{BOUNDARY}\r\nContent-Disposition: form-data; {disposition}\r\n\r\n").bytes());
        self.0.extend(content);
        self.0.extend(b"\r\n");
        self
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.0.extend(format!("--{BOUNDARY}--\r\n").bytes());
        self.0
    }

    pub async fn post(self, client: &Client, path: &str) -> Answer {
        post_bytes(client, path, self.finish()).await
    }
}

/// Sends bytes that claim to be a form.
pub async fn post_bytes(client: &Client, path: &str, body: Vec<u8>) -> Answer {
    let content_type = format!("multipart/form-data; boundary={BOUNDARY}");
    client.send(client.request(Method::POST, path).header("content-type", content_type).body(body)).await
}

/// A PDF with this text in its catalogue.
pub fn pdf(inside: &str) -> Vec<u8> {
    format!("%PDF-1.7\n1 0 obj\n<< /Type /Catalog {inside} >>\nendobj\ntrailer << /Root 1 0 R >>\n%%EOF\n").into_bytes()
}

/// The beginning of a PNG picture of this size.
pub fn png(width: u32, height: u32) -> Vec<u8> {
    let (width, height) = (width.to_be_bytes(), height.to_be_bytes());
    [b"\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR".as_slice(), &width, &height, b"\x08\x06\0\0\0 and so on"].concat()
}

/// The beginning of a JPEG picture of this size.
pub fn jpeg(width: u16, height: u16) -> Vec<u8> {
    let (width, height) = (width.to_be_bytes(), height.to_be_bytes());
    [&[0xFF, 0xD8, 0xFF, 0xC0, 0, 17, 8][..], &height, &width, &[3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]].concat()
}
