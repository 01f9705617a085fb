//! The PDF as readers see it: text and positions from poppler's pdftotext, structure from qpdf.

use std::path::Path;
use std::process::Command;

use einvoice::{Branding, Invoice, pdf};
use proptest::prelude::*;

use crate::{folder, run, samples};

const ADVICE: &str = "make test installs it (tools/ensure-debian poppler-utils qpdf)";

/// The margins and the top of the footer, in points.
const LEFT: f64 = 56.0;
const RIGHT: f64 = 595.28 - 56.0;
const FOOTER: f64 = 841.89 - 56.0;

/// The text of each page.
fn pages(test: &str, invoice: &Invoice) -> Vec<String> {
    let path = folder(test).join("invoice.pdf");
    std::fs::write(&path, pdf(invoice, &samples::branding()).unwrap()).unwrap();
    let text = run(Command::new("pdftotext").arg("-layout").arg(&path).arg("-"), ADVICE);
    text.split_terminator('\u{c}').map(str::to_owned).collect()
}

/// The amount at the end of the line that begins with `label`.
fn amount_after(page: &str, label: &str) -> i64 {
    let line = page.lines().find(|line| line.trim_start().starts_with(label)).expect(label);
    let digits: String = line.rsplit(' ').next().unwrap().chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

#[test]
fn an_invoice_shows_parties_dates_lines_and_totals() {
    let pages = pages("an_invoice", &samples::domestic());
    assert_eq!(pages.len(), 1);
    for part in [
        "Invoice 2026-000317",
        "Bakker & Zonen Logistiek B.V.",
        "NL801234567B01",
        "15 November 2026",
        "1 – 31 October 2026",
        "128,450.3 min",
        "0.0042",
        "VAT 21 %",
        "Amount due",
        "NL91 ABNA 0417 1643 00",
        "Page 1 of 1",
    ] {
        assert!(pages[0].contains(part), "{part} is missing in\n{}", pages[0]);
    }
}

#[test]
fn a_credit_note_has_its_title_and_names_its_invoice() {
    let pages = pages("a_credit_note", &samples::credit_note());
    assert!(pages[0].contains("Credit note 2026-000402") && pages[0].contains("Amount credited"));
    assert!(pages[0].contains("credited on invoice 2026-000317 of 1 November 2026"));
    assert!(!pages[0].contains("Please transfer"));
}

#[test]
fn the_exemption_reason_is_shown() {
    let pages = pages("no_vat", &samples::reverse_charge());
    assert!(pages[0].contains("Reverse charge") && pages[0].contains("Ελληνικές Επικοινωνίες Α.Ε."), "{}", pages[0]);
}

#[test]
fn two_hundred_lines_are_shown_with_the_total_carried_forward() {
    let invoice = samples::long(200);
    let pages = pages("two_hundred", &invoice);
    assert!((6..=9).contains(&pages.len()), "{} pages", pages.len());
    let mut carried = 0_i64;
    let mut lines = invoice.lines.iter().peekable();
    for (index, page) in pages.iter().enumerate() {
        assert!(page.contains(&format!("Page {} of {}", index + 1, pages.len())), "{page}");
        let last_row = page.lines().any(|line| line.trim_start().starts_with("200 "));
        if index > 0 && lines.peek().is_some() {
            assert_eq!(amount_after(page, "Brought forward"), carried);
        }
        while let Some(line) =
            lines.next_if(|line| page.lines().any(|row| row.trim_start().starts_with(&format!("{} ", line.id))))
        {
            carried += line.net;
        }
        if lines.peek().is_some() {
            assert!(page.contains("Description"), "{page}");
            assert_eq!(amount_after(page, "Carried forward"), carried, "page {}", index + 1);
        } else {
            assert!(!last_row || !page.contains("Carried forward"));
        }
    }
    assert!(lines.peek().is_none() && carried == invoice.totals.net);
}

#[test]
fn no_text_crosses_the_margins_or_the_footer() {
    let path = folder("margins").join("invoice.pdf");
    let invoices = (15..=26).chain([60]).map(samples::long).chain([samples::hostile(), samples::large()]);
    for invoice in invoices {
        std::fs::write(&path, pdf(&invoice, &samples::branding()).unwrap()).unwrap();
        let words = run(Command::new("pdftotext").arg("-bbox").arg(&path).arg("-"), ADVICE);
        for word in words.lines().filter(|line| line.contains("<word ")) {
            let edge = |name: &str| -> f64 {
                let from = word.find(name).expect(word) + name.len() + 2;
                word[from..].split('"').next().unwrap().parse().unwrap()
            };
            assert!(edge("xMin") >= LEFT - 1.0 && edge("xMax") <= RIGHT + 1.0, "{} lines: {word}", invoice.lines.len());
            assert!(edge("yMax") <= FOOTER || edge("yMin") >= FOOTER, "{} lines: {word}", invoice.lines.len());
        }
    }
}

#[test]
fn markup_and_other_scripts_in_names_are_shown_as_text() {
    let pages = pages("any_script", &samples::hostile());
    for part in ["</ram:Name><ram:ID>&amp;", "电信株式会社", "]]> <!-- \"quoted\" 'street'"] {
        assert!(pages[0].contains(part), "{part} is missing in\n{}", pages[0]);
    }
}

#[test]
fn the_same_invoice_gives_the_same_bytes() {
    let (invoice, branding) = (samples::domestic(), samples::branding());
    let first = pdf(&invoice, &branding).unwrap();
    assert!(first == pdf(&invoice, &branding).unwrap());
    let other = pdf(&Invoice { number: "2026-000318".to_owned(), ..invoice }, &branding).unwrap();
    assert!(first != other);
    let red = pdf(&samples::domestic(), &Branding { accent: [200, 20, 20], ..branding }).unwrap();
    assert!(first != red);
}

#[test]
fn qpdf_finds_no_errors() {
    let folder = folder("qpdf");
    for (name, invoice) in samples::all() {
        let path = folder.join(format!("{name}.pdf"));
        std::fs::write(&path, pdf(&invoice, &samples::branding()).unwrap()).unwrap();
        check_with_qpdf(&path);
    }
}

proptest! {
    // Each case writes a whole document.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_text_can_be_written(texts in proptest::collection::vec(".{0,60}", 8)) {
        let [name, street, city, reference, description, terms, note, number] = texts.try_into().unwrap();
        let mut invoice = samples::domestic();
        (invoice.buyer.name, invoice.buyer.address.lines, invoice.buyer.address.city) = (name, vec![street], city);
        (invoice.buyer.reference, invoice.lines[0].description) = (Some(reference), description);
        (invoice.payment_terms, invoice.notes, invoice.number) = (Some(terms), vec![note], number);
        let written = pdf(&invoice, &samples::branding());
        prop_assert!(written.is_ok(), "{:?}", written);
    }
}

fn check_with_qpdf(path: &Path) {
    let output = run(Command::new("qpdf").arg("--check").arg(path), ADVICE);
    assert!(output.contains("No syntax or stream encoding errors found"), "{output}");
}
