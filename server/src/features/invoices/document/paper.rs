//! The document as a PDF of plain text in columns. The same facts are the same bytes.

use std::fmt::Write;

use super::{Facts, Party};
use crate::values::Money;

const LINES_ON_A_PAGE: usize = 60;
const WIDTH: usize = 80;

pub fn pdf(facts: &Facts) -> Vec<u8> {
    let text = text(facts);
    let pages: Vec<&[String]> = text.chunks(LINES_ON_A_PAGE).collect();
    let mut objects = vec!["<< /Type /Catalog /Pages 2 0 R >>".to_owned()];
    let kids: Vec<String> = (0..pages.len()).map(|page| format!("{} 0 R", 4 + page * 2)).collect();
    objects.push(format!("<< /Type /Pages /Count {} /Kids [{}] >>", pages.len(), kids.join(" ")));
    objects.push("<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>".to_owned());
    for (page, lines) in pages.iter().enumerate() {
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F 3 0 R >> >> /Contents {} 0 R >>",
            5 + page * 2
        ));
        let shown: String = lines.iter().map(|line| format!("({}) Tj T*\n", escaped(line))).collect();
        let content = format!("BT /F 10 Tf 12 TL 57 785 Td\n{shown}ET");
        objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
    }
    assembled(&objects)
}

fn assembled(objects: &[String]) -> Vec<u8> {
    let mut file = String::from("%PDF-1.7\n");
    let mut table = String::from("0000000000 65535 f \n");
    for (at, object) in objects.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = writeln!(table, "{:010} 00000 n ", file.len());
        let _ = writeln!(file, "{} 0 obj\n{object}\nendobj", at + 1);
    }
    let (start, count) = (file.len(), objects.len() + 1);
    let _ =
        write!(file, "xref\n0 {count}\n{table}trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n");
    file.into_bytes()
}

/// What the font can show, as octal where it is not plain.
fn escaped(line: &str) -> String {
    line.chars().fold(String::new(), |mut shown, c| {
        match c {
            '(' | ')' | '\\' => shown.extend(['\\', c]),
            ' '..='~' => shown.push(c),
            '\u{a0}'..='\u{ff}' => drop(write!(shown, "\\{:03o}", u32::from(c))),
            _ => shown.push('?'),
        }
        shown
    })
}

fn text(facts: &Facts) -> Vec<String> {
    let title = if facts.credits.is_some() { "CREDIT NOTE" } else { "INVOICE" };
    let mut lines = vec![format!("{title} {}", facts.number), String::new()];
    lines.extend(facts.credits.iter().map(|of| format!("for invoice {} of {}", of.number, of.issue_date)));
    lines.push(format!("Date      {}", facts.issue_date));
    lines.push(format!("Supplied  {} to {}", facts.supply_first, facts.supply_last));
    if facts.credits.is_none() {
        lines.push(format!("Due       {}", facts.due_date));
    }
    for (role, party) in [("From", &facts.seller), ("To", &facts.buyer)] {
        lines.extend([String::new(), role.to_owned()]);
        lines.extend(address(party));
    }
    lines.push(String::new());
    lines.extend(facts.lines.iter().map(|line| row(facts, &line.description, line.net)));
    lines.push("-".repeat(WIDTH));
    let (net, vat, paid) = (facts.net, facts.vat, facts.paid);
    let gross = net.saturating_add(vat);
    lines.push(row(facts, "Net", net));
    lines.push(row(facts, &format!("VAT {}.{:02} %", facts.rate.0 / 100, facts.rate.0 % 100), vat));
    lines.push(row(facts, "Total", gross));
    lines.push(row(facts, "Paid from the balance", paid));
    lines.push(row(facts, "Due", gross.saturating_sub(paid)));
    let remarks = facts.why_no_vat().into_iter().chain(facts.note.as_deref());
    lines.extend(remarks.flat_map(|remark| ["", remark]).map(str::to_owned));
    lines
}

fn address(party: &Party) -> Vec<String> {
    let place = [party.postal_code.as_str(), party.city.as_str(), party.country.as_str()];
    let place: Vec<&str> = place.into_iter().filter(|part| !part.is_empty()).collect();
    let vat_id = party.vat_id.as_ref().map(|id| format!("VAT id {id}"));
    let registration = party.registration.as_ref().map(|number| format!("Registration {number}"));
    let mut lines = vec![party.name.clone()];
    lines.extend(party.street.iter().cloned());
    lines.push(place.join(" "));
    lines.extend(vat_id.into_iter().chain(registration));
    lines.into_iter().map(|line| format!("  {line}")).collect()
}

fn row(facts: &Facts, what: &str, minor: i64) -> String {
    let amount = Money::from_minor(minor, facts.currency).map(|money| money.to_string()).unwrap_or_default();
    let room = WIDTH.saturating_sub(amount.len() + 1);
    let what: String = what.chars().take(room).collect();
    format!("{what:room$} {amount}")
}
