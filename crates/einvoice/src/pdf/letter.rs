//! The invoice as a letter: head, addresses, facts, lines, sums, how to pay, and a foot on every page.

use super::fonts::{Fonts, Weight};
use super::sheet::{Colour, HAIR, HEIGHT, INK, MUTED, Sheet, Style, WHITE, WIDTH};
use super::{Look, table, words};
use crate::model::{Address, Invoice, Kind};

pub(super) const LEFT: f32 = 56.0;
pub(super) const RIGHT: f32 = WIDTH - 56.0;
/// Where the body of a page ends.
pub(super) const BOTTOM: f32 = HEIGHT - 72.0;
const FOOT: f32 = HEIGHT - 56.0;
/// Where the body of a page after the first begins.
const TOP: f32 = 78.0;
const FACTS: f32 = LEFT + 262.0;
const SUMS: f32 = LEFT + 282.0;
const COLUMN: f32 = 220.0;

const TEXT: Style = Style::regular(8.8);
const SMALL: Style = Style::regular(7.6).in_colour(MUTED);
const LABEL: Style = Style::bold(7.6).in_colour(MUTED);
const LEADING: f32 = 12.4;

pub(super) struct Letter<'a> {
    pub(super) invoice: &'a Invoice,
    pub(super) look: &'a Look,
    pub(super) fonts: &'a Fonts,
    sheets: Vec<Sheet>,
    current: Sheet,
    /// The top of what comes next.
    pub(super) y: f32,
}

/// The pages of the invoice.
pub(super) fn compose(invoice: &Invoice, look: &Look, fonts: &Fonts) -> Vec<Sheet> {
    let mut letter = Letter { invoice, look, fonts, sheets: Vec::new(), current: Sheet::default(), y: 0.0 };
    letter.letterhead();
    letter.addresses_and_facts();
    letter.headline();
    table::set(&mut letter);
    letter.sums();
    letter.payment();
    letter.finish()
}

impl Letter<'_> {
    pub(super) fn sheet(&mut self) -> &mut Sheet {
        &mut self.current
    }

    /// Begins a new page, with a short head that says what it belongs to.
    pub(super) fn turn_page(&mut self) {
        self.sheets.push(std::mem::take(&mut self.current));
        let (look, fonts) = (self.look, self.fonts);
        let about = format!("{} {}", words::title(self.invoice), self.invoice.number);
        let brand = Style::bold(10.5).in_colour(look.accent);
        let sheet = &mut self.current;
        sheet.block(0.0, 0.0, WIDTH, 5.0, look.accent);
        sheet.text(LEFT, 50.0, brand, fonts.wrap(&look.brand, Weight::Bold, brand.size, COLUMN, 1).concat());
        let about = fonts.wrap(&about, Weight::Regular, 8.8, COLUMN, 1).concat();
        sheet.text_to(RIGHT, 50.0, TEXT.in_colour(MUTED), about, fonts);
        self.y = TOP;
    }

    fn make_room(&mut self, height: f32) {
        if self.y + height > BOTTOM {
            self.turn_page();
        }
    }

    fn letterhead(&mut self) {
        let (look, fonts, seller) = (self.look, self.fonts, &self.invoice.seller);
        let sheet = &mut self.current;
        sheet.block(0.0, 0.0, WIDTH, 5.0, look.accent);
        let brand = Style::bold(21.0).in_colour(look.accent);
        sheet.text(LEFT, 66.0, brand, fonts.wrap(&look.brand, Weight::Bold, brand.size, 260.0, 1).concat());
        if let Some(tagline) = &look.tagline {
            sheet.text(LEFT, 81.0, SMALL, fonts.wrap(tagline, Weight::Regular, SMALL.size, 260.0, 1).concat());
        }

        let mut baseline = 52.0;
        let mut right = |style: Style, text: &str| {
            for line in fonts.wrap(text, style.weight, style.size, COLUMN, 2) {
                sheet.text_to(RIGHT, baseline, style, line, fonts);
                baseline += 10.6;
            }
        };
        right(LABEL.in_colour(INK), &seller.name);
        for line in postal(&seller.address) {
            right(SMALL, &line);
        }
        if let Some(contact) = &seller.contact {
            let ways = [contact.phone.as_deref(), contact.email.as_deref()].into_iter().flatten();
            right(SMALL, &ways.collect::<Vec<_>>().join("  ·  "));
        }
        self.y = baseline;
    }

    fn addresses_and_facts(&mut self) {
        let (invoice, fonts) = (self.invoice, self.fonts);
        let top = self.y.max(128.0) + 16.0;
        let sheet = &mut self.current;

        let mut baseline = top;
        sheet.text(LEFT, baseline, LABEL, if is_credit(invoice) { "CREDIT TO" } else { "BILL TO" });
        baseline += 16.0;
        let mut left = |style: Style, text: &str, most: usize| {
            for line in fonts.wrap(text, style.weight, style.size, COLUMN, most) {
                sheet.text(LEFT, baseline, style, line);
                baseline += 13.4;
            }
        };
        left(Style::bold(10.4), &invoice.buyer.name, 3);
        for line in postal(&invoice.buyer.address) {
            left(Style::regular(9.6), &line, 2);
        }
        if let Some(id) = &invoice.buyer.vat_id {
            left(TEXT.in_colour(MUTED), &format!("VAT {id}"), 1);
        }

        let mut fact_baseline = top;
        for (name, value) in facts(invoice) {
            sheet.text(FACTS, fact_baseline, TEXT.in_colour(MUTED), name);
            let lines = fonts.wrap(&value, Weight::Regular, TEXT.size, RIGHT - FACTS - 82.0, 3);
            for line in &lines {
                sheet.text_to(RIGHT, fact_baseline, TEXT, line, fonts);
                fact_baseline += 13.0;
            }
            sheet.rule(FACTS, RIGHT, fact_baseline - 8.4, 0.5, HAIR);
            fact_baseline += 3.4;
        }
        self.y = baseline.max(fact_baseline);
    }

    fn headline(&mut self) {
        let (invoice, fonts) = (self.invoice, self.fonts);
        self.y += 34.0;
        let title = format!("{} {}", words::title(invoice), invoice.number);
        let (y, sheet) = (self.y, &mut self.current);
        sheet.text(LEFT, y, Style::bold(17.0), fonts.wrap(&title, Weight::Bold, 17.0, RIGHT - LEFT, 1).concat());
        let gist = words::gist(invoice);
        let gist = fonts.wrap(&gist, Weight::Regular, 9.6, RIGHT - LEFT, 1).concat();
        sheet.text(LEFT, y + 17.0, Style::regular(9.6).in_colour(MUTED), gist);
        self.y += 36.0;
    }

    /// The VAT summary on the left and the totals on the right, never torn apart.
    fn sums(&mut self) {
        let reasons = self.vat_remarks();
        let groups = self.invoice.vat_groups.len() as f32;
        let left = 34.0 + groups * 15.0 + reasons.len() as f32 * 10.6;
        self.make_room(left.max(118.0) + 14.0);
        self.y += 22.0;
        let vat_ends = self.vat_summary(&reasons);
        let totals_end = self.totals();
        self.y = vat_ends.max(totals_end);
    }

    fn vat_summary(&mut self, remarks: &[String]) -> f32 {
        let (invoice, fonts, top) = (self.invoice, self.fonts, self.y);
        let sheet = &mut self.current;
        let (taxable_ends, vat_ends) = (LEFT + 176.0, LEFT + 246.0);
        sheet.text(LEFT, top, LABEL, "VAT summary");
        sheet.text_to(taxable_ends, top, LABEL, "Taxable", fonts);
        sheet.text_to(vat_ends, top, LABEL, "VAT", fonts);
        sheet.rule(LEFT, vat_ends, top + 5.6, 0.5, MUTED);
        let mut baseline = top + 18.0;
        for group in &invoice.vat_groups {
            sheet.text(LEFT, baseline, TEXT, words::vat(group.vat));
            sheet.text_to(taxable_ends, baseline, TEXT, words::amount(&invoice.currency, group.taxable), fonts);
            sheet.text_to(vat_ends, baseline, TEXT, words::amount(&invoice.currency, group.amount), fonts);
            baseline += 15.0;
        }
        for remark in remarks {
            sheet.text(LEFT, baseline, SMALL, remark);
            baseline += 10.6;
        }
        baseline
    }

    fn vat_remarks(&self) -> Vec<String> {
        let invoice = self.invoice;
        let mut remarks = Vec::new();
        if invoice.vat_groups.iter().any(|group| group.vat.category.needs_reason()) {
            remarks.extend(invoice.exemption_reason.clone());
        }
        if let Some(home) = &invoice.vat_at_home {
            let amount = words::money(&home.currency, home.amount);
            let remark = home.remark.as_ref().map(|remark| format!(" ({remark})")).unwrap_or_default();
            remarks.push(format!("VAT amounts to {amount}{remark}"));
        }
        let wrap = |remark: &String| self.fonts.wrap(remark, Weight::Regular, SMALL.size, 246.0, 4);
        remarks.iter().flat_map(wrap).collect()
    }

    fn totals(&mut self) -> f32 {
        let (invoice, fonts, accent) = (self.invoice, self.fonts, self.look.accent);
        let (currency, totals) = (&invoice.currency, &invoice.totals);
        let mut rows = vec![("Net total", totals.net), ("VAT", totals.vat), ("Total", totals.gross)];
        if totals.paid != 0 {
            let name = match (is_credit(invoice), invoice.is_void) {
                (true, _) => "Settled",
                (false, true) => "Void",
                (false, false) => "Paid",
            };
            rows.push((name, totals.paid.saturating_neg()));
        }
        let mut baseline = self.y;
        let sheet = &mut self.current;
        for (name, value) in rows {
            let style = if name == "Total" { Style::bold(8.8) } else { TEXT };
            sheet.text(SUMS, baseline, style, name);
            sheet.text_to(RIGHT, baseline, style, words::amount(currency, value), fonts);
            sheet.rule(SUMS, RIGHT, baseline + 5.6, 0.5, HAIR);
            baseline += 17.0;
        }
        let name = match (is_credit(invoice), totals.paid) {
            (false, _) => "Amount due",
            (true, 0) => "Amount credited",
            (true, _) => "Left to credit",
        };
        let style = Style::bold(10.6).in_colour(readable_on(accent));
        sheet.block(SUMS, baseline - 7.0, RIGHT - SUMS, 27.0, accent);
        sheet.text(SUMS + 9.0, baseline + 10.4, style, name);
        sheet.text_to(RIGHT - 9.0, baseline + 10.4, style, words::money(currency, totals.due), fonts);
        baseline + 30.0
    }

    fn payment(&mut self) {
        let invoice = self.invoice;
        let mut how: Vec<String> = invoice.payment_terms.iter().cloned().collect();
        if let Some(iban) = invoice.seller.iban.as_ref().filter(|_| invoice.totals.due > 0 && !is_credit(invoice)) {
            let (name, number) = (&invoice.seller.name, &invoice.number);
            how.push(format!("Please transfer to {iban}, {name}, quoting invoice {number}."));
        }
        self.paragraphs(if is_credit(invoice) { "Settlement" } else { "Payment" }, &how);
        self.paragraphs("Notes", &invoice.notes);
    }

    fn paragraphs(&mut self, heading: &str, paragraphs: &[String]) {
        let wrap = |text: &String| self.fonts.wrap(text, Weight::Regular, TEXT.size, RIGHT - LEFT, 40);
        let lines: Vec<String> = paragraphs.iter().flat_map(wrap).collect();
        if lines.is_empty() {
            return;
        }
        // A heading never stands alone at the end of a page.
        self.make_room(26.0 + 2.0 * LEADING);
        self.y += 24.0;
        let y = self.y;
        self.current.text(LEFT, y, LABEL, heading);
        self.y += 4.0;
        for line in lines {
            self.make_room(LEADING);
            self.y += LEADING;
            let y = self.y;
            self.current.text(LEFT, y, TEXT, line);
        }
    }

    /// Now that all pages are known, each gets its foot.
    fn finish(mut self) -> Vec<Sheet> {
        self.sheets.push(self.current);
        let (seller, fonts) = (&self.invoice.seller, self.fonts);
        let mut foot = self.look.footer.clone();
        if foot.is_empty() {
            let registration = seller.registration_id.as_ref().map(|id| format!("Registered {id}"));
            let vat = seller.vat_id.as_ref().map(|id| format!("VAT {id}"));
            let facts = [Some(seller.name.clone()), registration, vat, seller.iban.clone()];
            foot.push(facts.into_iter().flatten().collect::<Vec<_>>().join("  ·  "));
        }
        let pages = self.sheets.len();
        for (index, sheet) in self.sheets.iter_mut().enumerate() {
            sheet.rule(LEFT, RIGHT, FOOT, 0.5, HAIR);
            for (row, text) in foot.iter().take(3).enumerate() {
                let text = fonts.wrap(text, Weight::Regular, SMALL.size, RIGHT - LEFT - 70.0, 1).concat();
                sheet.text(LEFT, FOOT + 14.0 + row as f32 * 10.4, SMALL, text);
            }
            sheet.text_to(RIGHT, FOOT + 14.0, SMALL, format!("Page {} of {pages}", index + 1), fonts);
        }
        self.sheets
    }
}

fn is_credit(invoice: &Invoice) -> bool {
    matches!(invoice.kind, Kind::CreditNote { .. })
}

fn facts(invoice: &Invoice) -> Vec<(&'static str, String)> {
    let mut facts = vec![("Number", invoice.number.clone()), ("Date", invoice.issue_date.in_words())];
    if let Kind::CreditNote { of, .. } = &invoice.kind {
        facts.push(("Credits invoice", of.clone()));
    }
    facts.extend(invoice.due_date.map(|due| ("Due", due.in_words())));
    facts.extend(invoice.supply.map(|supply| ("Supplied", words::period(supply))));
    facts.extend(invoice.buyer.reference.clone().map(|reference| ("Your reference", reference)));
    facts
}

fn postal(address: &Address) -> Vec<String> {
    let city = match &address.postcode {
        Some(postcode) => format!("{postcode} {}", address.city),
        None => address.city.clone(),
    };
    let lines = address.lines.iter().take(3).cloned();
    lines.chain([city, address.country_name.clone()]).filter(|line| !line.trim().is_empty()).collect()
}

/// White or ink, whichever stands out more.
fn readable_on([red, green, blue]: Colour) -> Colour {
    let brightness = 299 * u32::from(red) + 587 * u32::from(green) + 114 * u32::from(blue);
    if brightness > 150_000 { INK } else { WHITE }
}
