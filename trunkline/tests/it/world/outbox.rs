//! The mail in the outbox, parsed by Python.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
pub struct Mail {
    pub to: String,
    pub subject: String,
    /// The names of all headers.
    pub headers: Vec<String>,
    pub text: String,
    pub html: String,
    pub files: Vec<AttachedFile>,
}

/// A file that came with a mail.
#[derive(Clone, Debug, Deserialize)]
pub struct AttachedFile {
    pub name: String,
    pub kind: String,
    pub bytes: Vec<u8>,
}

impl Mail {
    /// The token in the mail's link.
    pub fn token(&self) -> String {
        let (_, rest) = self.text.split_once("#token=").expect("the mail has a link");
        rest.split_whitespace().next().unwrap().to_owned()
    }
}

/// Parsed by Python's mail parser, so that the service's mail is checked by an independent implementation.
const READER: &str = r#"
import email, email.policy, glob, json, sys
mails = []
for path in sorted(glob.glob(sys.argv[1] + "/*.eml")):
    with open(path, "rb") as file:
        mail = email.message_from_binary_file(file, policy=email.policy.default)
    files = list(mail.iter_attachments()) if mail.get_content_type() == "multipart/mixed" else []
    bodies = next(mail.iter_parts()) if files else mail
    assert bodies.get_content_type() == "multipart/alternative" and not mail.defects, path
    text, html = (mail.get_body((kind,)).get_content() for kind in ("plain", "html"))
    mails.append({"to": mail["to"], "subject": mail["subject"], "headers": mail.keys(), "text": text, "html": html,
        "files": [{"name": f.get_filename(), "kind": f.get_content_type(), "bytes": list(f.get_payload(decode=True))} for f in files]})
print(json.dumps(mails))
"#;

pub fn read(outbox: &Path) -> Vec<Mail> {
    let output = Command::new("/usr/bin/python3")
        .args(["-c", READER])
        .arg(outbox)
        .stderr(Stdio::inherit())
        .output()
        .expect("Python reads the outbox");
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}
