//! Rules that hold for every mail in the list.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::path::Path;

use super::*;
use crate::config::Settings;

/// Text that would be dangerous if it were not escaped.
const MARKUP: &str = "<script>alert('1')</script>\n<img src=x onerror=\"alert(2)\">";
/// The templates that mails share.
const SHARED: &[&str] = &[
    "message.html",
    "message.txt",
    "parts.html",
    "parts.txt",
    "document_set.txt",
    "factor_change.txt",
    "access_change.txt",
];

fn brand() -> Branding {
    Branding { product: "Trunkline".to_owned(), public_url: "https://trunkline.example".to_owned() }
}

fn anna(name: &str) -> Recipient {
    Recipient::new(&"anna@customer.example".parse().unwrap(), name)
}

fn every_mail(to: &Recipient) -> impl Iterator<Item = (&'static str, RenderedMail)> {
    SAMPLES.iter().map(move |sample| (sample.name(), (sample.render)(&brand(), to).unwrap()))
}

fn links_in_html(html: &str) -> BTreeSet<&str> {
    html.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

fn links_in_text(text: &str) -> BTreeSet<&str> {
    text.split_whitespace().filter(|word| word.contains("://")).collect()
}

#[test]
fn every_mail_has_a_short_subject_a_greeting_and_a_reason() {
    for (name, mail) in every_mail(&anna("Anna")) {
        assert!((1..=78).contains(&mail.subject.chars().count()), "{name}: {}", mail.subject);
        for body in [&mail.text, &mail.html] {
            assert!(body.contains("Hello Anna,"), "{name}: {body}");
            assert!(body.contains("Trunkline"), "{name}: {body}");
        }
        assert!(mail.html.contains(&format!("<title>{}</title>", mail.subject)), "{name}");
        let text = mail.text.replace('\n', " ");
        let reason = "You receive this mail at anna@customer.example because ";
        let (_, because) = text.split_once(reason).expect(name);
        assert!(
            because.len() > 2 && mail.html.contains(&format!("{reason}{}", because.trim_end())),
            "{name}: {because}"
        );
    }
}

#[test]
fn every_link_is_under_the_public_url_and_in_both_bodies() {
    for (name, mail) in every_mail(&anna("Anna")) {
        let links = links_in_html(&mail.html);
        assert_eq!(links, links_in_text(&mail.text), "{name}");
        for link in links {
            let path = link.strip_prefix("https://trunkline.example").expect(link);
            assert!(path.is_empty() || path.starts_with('/'), "{name}: {link}");
            assert!(mail.html.contains(&format!(">{link}</a>")), "{name}: {link} can be copied");
        }
    }
}

#[test]
fn no_mail_loads_remote_content_or_scripts() {
    for (name, mail) in every_mail(&anna("Anna")) {
        for forbidden in ["<script", "<img", "<link", "src=", "url(", "@import", "javascript:"] {
            assert!(!mail.html.contains(forbidden), "{name} has {forbidden}");
        }
    }
}

#[test]
fn plain_text_is_wrapped_at_72_columns() {
    for (name, mail) in every_mail(&anna("Anna")) {
        for line in mail.text.lines() {
            assert!(line.chars().count() <= 72 || !line.contains(' '), "{name}: {line}");
        }
        assert!(!mail.text.contains("\n\n\n") && mail.text.ends_with(".\n"), "{name}: {}", mail.text);
    }
}

#[test]
fn every_template_file_belongs_to_one_mail() {
    let mut listed: BTreeSet<String> = SHARED.iter().map(|file| (*file).to_owned()).collect();
    for sample in SAMPLES {
        assert_eq!(sample.html, format!("en/{}.html", sample.name()));
        assert_eq!(sample.text, format!("en/{}.txt", sample.name()));
        for extension in ["html", "txt"] {
            let file = format!("{}.{extension}", sample.name());
            assert!(listed.insert(file.clone()), "{file} is listed twice");
        }
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("mail/en");
    let file_name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let files: BTreeSet<String> = std::fs::read_dir(folder).unwrap().map(file_name).collect();
    assert_eq!(files, listed);
}

#[test]
fn markup_in_a_name_is_escaped() {
    for (name, mail) in every_mail(&anna("<script>alert(1) & \"Anna\"\r\nBcc")) {
        assert!(mail.text.starts_with("Hello <script>alert(1) & \"Anna\" Bcc,\n"), "{name}: {}", mail.text);
        assert!(!mail.html.contains("<script"), "{name}: {}", mail.html);
        assert!(mail.html.contains("Hello &#60;script&#62;alert(1) &#38; &#34;Anna&#34; Bcc,"), "{name}");
    }
}

#[test]
fn markup_in_a_reviewers_note_is_escaped() {
    fn render(mail: &impl MailTemplate) -> RenderedMail {
        RenderedMail::new(mail, &brand(), &anna("Anna")).unwrap()
    }
    let (link, expires_at) = (brand().public_url, ReadableTime(Time::EPOCH));
    let (documents, note) = (|| DocumentSet::Company, || Some(MARKUP.to_owned()));
    let rendered = [
        render(&SignupApproved { link, expires_at, note: note() }),
        render(&SignupDeclined { note: note() }),
        render(&DocumentsApproved { documents: documents(), note: note() }),
        render(&DocumentsRejected { documents: documents(), note: note() }),
        render(&DocumentsRequested { documents: documents(), note: note() }),
    ];
    for RenderedMail { subject, text, html, .. } in rendered {
        assert!(text.contains("\n> <script>alert('1')</script>\n> <img src=x onerror=\"alert(2)\">\n"), "{text}");
        assert!(!html.contains("<script") && !html.contains("<img"), "{html}");
        let inert = "&#60;script&#62;alert(&#39;1&#39;)&#60;/script&#62;<br/>&#60;img src=x";
        assert!(html.contains(inert), "{html}");
        assert!(!subject.contains("alert"));
    }
}

#[test]
fn a_missing_note_is_not_mentioned() {
    let mail = RenderedMail::new(&SignupDeclined { note: None }, &brand(), &anna("Anna")).unwrap();
    assert!(!mail.text.contains("reviewer") && !mail.html.contains("reviewer"));
}

#[test]
fn a_recipient_without_a_name_gets_a_plain_greeting() {
    let unnamed = Recipient::unnamed(&"anna@customer.example".parse().unwrap());
    for (name, mail) in every_mail(&unnamed) {
        assert!(mail.text.starts_with("Hello,\n\n") && mail.html.contains("<p>Hello,</p>"), "{name}");
    }
}

#[test]
fn the_product_name_comes_from_the_sender() {
    let product = |from: &str| {
        let names = [("TRUNKLINE_MAIL_FROM".to_owned(), from.to_owned())].into();
        Branding::new(&Settings::from_names(names, Default::default()).unwrap()).product
    };
    assert_eq!(product("Example & Sons <voice@operator.example>"), "Example & Sons");
    assert_eq!(product("voice@operator.example"), "Trunkline");
}
