//! What holds for every mail, walked along the list of them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::path::Path;

use super::mails::{Papers, SAMPLES};
use super::*;

/// Words that would do something if they were taken for markup.
const MARKUP: &str = "<script>alert('1')</script>\n<img src=x onerror=\"alert(2)\">";
/// The templates that mails share.
const SHARED: &[&str] = &["letter.html", "letter.txt", "parts.html", "parts.txt", "papers.txt"];

fn head() -> Letterhead {
    Letterhead { product: "Trunkline".to_owned(), public_url: "https://trunkline.example".to_owned() }
}

fn anna(name: &str) -> Addressee {
    Addressee::new(&"anna@customer.example".parse().unwrap(), name)
}

fn every_mail(to: &Addressee) -> impl Iterator<Item = (&'static str, Draft)> {
    SAMPLES.iter().map(move |sample| (sample.name(), (sample.draft)(&head(), to).unwrap()))
}

fn links_in_html(html: &str) -> BTreeSet<&str> {
    html.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

fn links_in_text(text: &str) -> BTreeSet<&str> {
    text.split_whitespace().filter(|word| word.contains("://")).collect()
}

#[test]
fn every_mail_has_a_short_subject_and_two_bodies_that_greet_and_say_why() {
    for (name, draft) in every_mail(&anna("Anna")) {
        assert!((1..=78).contains(&draft.subject.chars().count()), "{name}: {}", draft.subject);
        for body in [&draft.text, &draft.html] {
            assert!(body.contains("Hello Anna,"), "{name}: {body}");
            assert!(body.contains("Trunkline"), "{name}: {body}");
        }
        assert!(draft.html.contains(&format!("<title>{}</title>", draft.subject)), "{name}");
        let text = draft.text.replace('\n', " ");
        let reason = "You receive this mail at anna@customer.example because ";
        let (_, why) = text.split_once(reason).expect(name);
        assert!(why.len() > 2 && draft.html.contains(&format!("{reason}{}", why.trim_end())), "{name}: {why}");
    }
}

#[test]
fn every_link_is_under_the_public_url_and_stands_in_both_bodies() {
    for (name, draft) in every_mail(&anna("Anna")) {
        let links = links_in_html(&draft.html);
        assert_eq!(links, links_in_text(&draft.text), "{name}");
        for link in links {
            let path = link.strip_prefix("https://trunkline.example").expect(link);
            assert!(path.is_empty() || path.starts_with('/'), "{name}: {link}");
            assert!(draft.html.contains(&format!(">{link}</a>")), "{name}: {link} can be copied");
        }
    }
}

#[test]
fn no_mail_fetches_anything_or_runs_anything() {
    for (name, draft) in every_mail(&anna("Anna")) {
        for forbidden in ["<script", "<img", "<link", "src=", "url(", "@import", "javascript:"] {
            assert!(!draft.html.contains(forbidden), "{name} has {forbidden}");
        }
    }
}

#[test]
fn text_has_lines_that_every_mail_program_shows_whole() {
    for (name, draft) in every_mail(&anna("Anna")) {
        for line in draft.text.lines() {
            assert!(line.chars().count() <= 72 || !line.contains(' '), "{name}: {line}");
        }
        assert!(!draft.text.contains("\n\n\n") && draft.text.ends_with(".\n"), "{name}: {}", draft.text);
    }
}

#[test]
fn every_template_belongs_to_a_mail_and_is_named_like_its_other_half() {
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
    let there: BTreeSet<String> = std::fs::read_dir(folder).unwrap().map(file_name).collect();
    assert_eq!(there, listed);
}

#[test]
fn markup_in_a_name_is_text_to_every_reader() {
    for (name, draft) in every_mail(&anna("<script>alert(1) & \"Anna\"\r\nBcc")) {
        assert!(draft.text.starts_with("Hello <script>alert(1) & \"Anna\" Bcc,\n"), "{name}: {}", draft.text);
        assert!(!draft.html.contains("<script"), "{name}: {}", draft.html);
        assert!(draft.html.contains("Hello &#60;script&#62;alert(1) &#38; &#34;Anna&#34; Bcc,"), "{name}");
    }
}

#[test]
fn markup_in_a_reviewers_note_is_text_to_every_reader() {
    fn draft(mail: &impl Mail) -> Draft {
        Draft::new(mail, &head(), &anna("Anna")).unwrap()
    }
    let (link, expires_at) = (head().public_url, Moment(Time::EPOCH));
    let (papers, note) = (|| Papers::Company, || Some(MARKUP.to_owned()));
    let drafts = [
        draft(&SignupApproved { link, expires_at, note: note() }),
        draft(&SignupDeclined { note: note() }),
        draft(&DocumentsApproved { papers: papers(), note: note() }),
        draft(&DocumentsRejected { papers: papers(), note: note() }),
        draft(&DocumentsWanted { papers: papers(), note: note() }),
    ];
    for Draft { subject, text, html, .. } in drafts {
        assert!(text.contains("\n> <script>alert('1')</script>\n> <img src=x onerror=\"alert(2)\">\n"), "{text}");
        assert!(!html.contains("<script") && !html.contains("<img"), "{html}");
        let inert = "&#60;script&#62;alert(&#39;1&#39;)&#60;/script&#62;<br/>&#60;img src=x";
        assert!(html.contains(inert), "{html}");
        assert!(!subject.contains("alert"));
    }
}

#[test]
fn a_note_nobody_wrote_is_not_announced() {
    let draft = Draft::new(&SignupDeclined { note: None }, &head(), &anna("Anna")).unwrap();
    assert!(!draft.text.contains("reviewer") && !draft.html.contains("reviewer"));
}

#[test]
fn a_stranger_is_greeted_without_a_name() {
    let nobody = Addressee::nameless(&"anna@customer.example".parse().unwrap());
    for (name, draft) in every_mail(&nobody) {
        assert!(draft.text.starts_with("Hello,\n\n") && draft.html.contains("<p>Hello,</p>"), "{name}");
    }
}

#[test]
fn the_sender_names_the_product_in_mails() {
    let product = |from: &str| {
        let names = [("TRUNKLINE_MAIL_FROM".to_owned(), from.to_owned())].into();
        Letterhead::new(&Settings::from_names(names, Default::default()).unwrap()).product
    };
    assert_eq!(product("Carrier & Sons <voice@carrier.example>"), "Carrier & Sons");
    assert_eq!(product("voice@carrier.example"), "Trunkline");
}
