//! HTML pages of a service without the portal: the front page and the pages that mails link to (password reset, magic
//! link, verification of an address). Each gives way to a screen of the portal with the same path.
//!
//! Each page is one document with inline style and script, which its Content-Security-Policy allows by hash and nothing
//! else. The token is in the URL fragment, which browsers do not send, so a GET (for example by a link scanner) cannot
//! see or redeem it. The script redeems it with a POST when the user submits the form.

mod well_known;

use hyper::header::HeaderValue;

use api::document::Document;
use api::headers::inline_source;
use api::portal::Screens;
use platform::app::StartError;

pub use well_known::screens;

const STYLE: &str = include_str!("page.css");

struct Page {
    path: &'static str,
    markup: &'static str,
    script: &'static str,
}

const PAGES: [Page; 4] = [
    Page { path: "/", markup: include_str!("index.html"), script: "" },
    Page {
        path: "/reset-password",
        markup: include_str!("reset_password.html"),
        script: concat!(include_str!("page.js"), include_str!("reset_password.js")),
    },
    Page {
        path: "/magic-link",
        markup: include_str!("magic_link.html"),
        script: concat!(include_str!("page.js"), include_str!("magic_link.js")),
    },
    Page {
        path: "/verify-email",
        markup: include_str!("verify_email.html"),
        script: concat!(include_str!("page.js"), include_str!("verify_email.js")),
    },
];

/// The pages that no screen of the portal replaces.
pub fn documents(portal: &Screens) -> Result<Vec<(&'static str, Document)>, StartError> {
    let kept = PAGES.iter().filter(|page| !portal.has(page.path));
    kept.map(|page| Ok((page.path, page.document()?))).collect()
}

impl Page {
    fn document(&self) -> Result<Document, StartError> {
        let body = self.markup.replacen("{style}", STYLE, 1).replacen("{script}", self.script, 1);
        Ok(Document::new("text/html; charset=utf-8", Some(self.policy()?), || body))
    }

    fn policy(&self) -> Result<HeaderValue, StartError> {
        let (script, style) = (inline_source(self.script), inline_source(STYLE));
        let policy = format!(
            "default-src 'none'; script-src {script}; style-src {style}; connect-src 'self'; form-action 'none'; \
             base-uri 'none'; frame-ancestors 'none'"
        );
        Ok(HeaderValue::from_str(&policy)?)
    }
}
