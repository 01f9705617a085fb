//! How a mail becomes text: the sender's branding, and the rendered subject and bodies.

use serde::{Deserialize, Serialize};

use super::wrap::wrap;
use crate::config::Settings;
use crate::mail::Recipient;
use crate::mail::mailer::sender_name;
use values::Email;

/// What every mail says about its sender.
pub struct Branding {
    /// The product's name: the display name in `TRUNKLINE_MAIL_FROM`.
    pub product: String,
    /// The origin of every link.
    pub public_url: String,
}

impl Branding {
    pub fn new(settings: &Settings) -> Branding {
        let product = sender_name(&settings.mail_from).unwrap_or_else(|| "Trunkline".to_owned());
        Branding { product, public_url: settings.public_url() }
    }
}

/// A mail that can be rendered. The `mails!` macro implements it for each entry of the list.
pub trait MailTemplate {
    fn subject(&self, brand: &Branding) -> String;
    fn html(&self, brand: &Branding, to: &Recipient, subject: &str) -> askama::Result<String>;
    fn text(&self, brand: &Branding, to: &Recipient, subject: &str) -> askama::Result<String>;
}

/// A mail as it waits in the queue.
#[derive(Serialize, Deserialize)]
pub struct RenderedMail {
    pub to: Email,
    pub subject: String,
    pub text: String,
    pub html: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}

/// A stored file that goes with a mail.
#[derive(Clone, Serialize, Deserialize)]
pub struct Attachment {
    /// Its content hash in hexadecimal.
    pub hash: String,
    pub file_name: String,
    pub content_type: String,
}

impl RenderedMail {
    pub fn new(mail: &impl MailTemplate, brand: &Branding, to: &Recipient) -> askama::Result<RenderedMail> {
        let subject = mail.subject(brand);
        let text = wrap(&mail.text(brand, to, &subject)?);
        let html = mail.html(brand, to, &subject)?;
        Ok(RenderedMail { to: to.email.clone(), subject, text, html, attachments: Vec::new() })
    }
}

/// A mail's templates, and how to render a sample of it.
pub struct Sample {
    pub html: &'static str,
    pub text: &'static str,
    pub render: fn(&Branding, &Recipient) -> askama::Result<RenderedMail>,
}

impl Sample {
    /// The file name of its templates without the extension.
    pub fn name(&self) -> &'static str {
        let file = self.html.rsplit('/').next().unwrap_or(self.html);
        file.split('.').next().unwrap_or(file)
    }
}
