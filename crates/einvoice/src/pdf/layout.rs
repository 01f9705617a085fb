//! Lays out the pages of an invoice: letterhead, addresses and details, headline, line table, VAT summary and totals,
//! payment, notes; then the footer of each page.
//!
//! `y` moves down as blocks are placed, and a block that does not fit starts a new page. [`table`] lays out the lines.

use super::fonts::{Fonts, Weight};
use super::page::{Colour, HEIGHT, INK, LIGHT, MUTED, Page, Style, WHITE, WIDTH};
use super::{Branding, labels, table};
use crate::model::{Address, Invoice, Kind};

pub(super) const LEFT: f32 = 56.0;
pub(super) const RIGHT: f32 = WIDTH - 56.0;
/// The lowest y of the body.
pub(super) const BODY_BOTTOM: f32 = HEIGHT - 72.0;
const FOOTER_TOP: f32 = HEIGHT - 56.0;
/// The top of the body on every page but the first.
const BODY_TOP: f32 = 78.0;
const DETAILS_LEFT: f32 = LEFT + 262.0;
const TOTALS_LEFT: f32 = LEFT + 282.0;
const COLUMN_WIDTH: f32 = 220.0;

const TEXT: Style = Style::regular(8.8);
const SMALL: Style = Style::regular(7.6).in_colour(MUTED);
const LABEL: Style = Style::bold(7.6).in_colour(MUTED);
const LEADING: f32 = 12.4;

pub(super) struct Layout<'a> {
    pub(super) invoice: &'a Invoice,
    pub(super) branding: &'a Branding,
    pub(super) fonts: &'a Fonts,
    pages: Vec<Page>,
    current: Page,
    /// The top of the next block.
    pub(super) y: f32,
}

/// Lays out the invoice over as many pages as it takes.
pub(super) fn layout_pages(invoice: &Invoice, branding: &Branding, fonts: &Fonts) -> Vec<Page> {
    let mut layout = Layout { invoice, branding, fonts, pages: Vec::new(), current: Page::default(), y: 0.0 };
    layout.letterhead();
    layout.addresses_and_details();
    layout.headline();
    table::add_lines(&mut layout);
    layout.vat_and_totals();
    layout.payment();
    layout.finish()
}

impl Layout<'_> {
    pub(super) fn page(&mut self) -> &mut Page {
        &mut self.current
    }

    /// Starts a new page with a short header: brand, title and invoice number.
    pub(super) fn start_page(&mut self) {
        self.pages.push(std::mem::take(&mut self.current));
        let (branding, fonts) = (self.branding, self.fonts);
        let title = format!("{} {}", labels::title(self.invoice), self.invoice.number);
        let brand = Style::bold(10.5).in_colour(branding.accent);
        let page = &mut self.current;
        page.rect(0.0, 0.0, WIDTH, 5.0, branding.accent);
        page.text(LEFT, 50.0, brand, fonts.wrap(&branding.brand, Weight::Bold, brand.size, COLUMN_WIDTH, 1).concat());
        let title = fonts.wrap(&title, Weight::Regular, 8.8, COLUMN_WIDTH, 1).concat();
        page.text_right(RIGHT, 50.0, TEXT.in_colour(MUTED), title, fonts);
        self.y = BODY_TOP;
    }

    fn ensure_room(&mut self, height: f32) {
        if self.y + height > BODY_BOTTOM {
            self.start_page();
        }
    }

    fn letterhead(&mut self) {
        let (branding, fonts, seller) = (self.branding, self.fonts, &self.invoice.seller);
        let page = &mut self.current;
        page.rect(0.0, 0.0, WIDTH, 5.0, branding.accent);
        let brand = Style::bold(21.0).in_colour(branding.accent);
        page.text(LEFT, 66.0, brand, fonts.wrap(&branding.brand, Weight::Bold, brand.size, 260.0, 1).concat());
        if let Some(tagline) = &branding.tagline {
            page.text(LEFT, 81.0, SMALL, fonts.wrap(tagline, Weight::Regular, SMALL.size, 260.0, 1).concat());
        }

        let mut baseline = 52.0;
        let mut right = |style: Style, text: &str| {
            for line in fonts.wrap(text, style.weight, style.size, COLUMN_WIDTH, 2) {
                page.text_right(RIGHT, baseline, style, line, fonts);
                baseline += 10.6;
            }
        };
        right(LABEL.in_colour(INK), &seller.name);
        for line in address_lines(&seller.address) {
            right(SMALL, &line);
        }
        if let Some(contact) = &seller.contact {
            let channels = [contact.phone.as_deref(), contact.email.as_deref()].into_iter().flatten();
            right(SMALL, &channels.collect::<Vec<_>>().join("  ·  "));
        }
        self.y = baseline;
    }

    fn addresses_and_details(&mut self) {
        let (invoice, fonts) = (self.invoice, self.fonts);
        let top = self.y.max(128.0) + 16.0;
        let page = &mut self.current;

        let mut baseline = top;
        page.text(LEFT, baseline, LABEL, if is_credit_note(invoice) { "CREDIT TO" } else { "BILL TO" });
        baseline += 16.0;
        let mut left = |style: Style, text: &str, max_lines: usize| {
            for line in fonts.wrap(text, style.weight, style.size, COLUMN_WIDTH, max_lines) {
                page.text(LEFT, baseline, style, line);
                baseline += 13.4;
            }
        };
        left(Style::bold(10.4), &invoice.buyer.name, 3);
        for line in address_lines(&invoice.buyer.address) {
            left(Style::regular(9.6), &line, 2);
        }
        if let Some(id) = &invoice.buyer.vat_id {
            left(TEXT.in_colour(MUTED), &format!("VAT {id}"), 1);
        }

        let mut detail_baseline = top;
        for (name, value) in details(invoice) {
            page.text(DETAILS_LEFT, detail_baseline, TEXT.in_colour(MUTED), name);
            let lines = fonts.wrap(&value, Weight::Regular, TEXT.size, RIGHT - DETAILS_LEFT - 82.0, 3);
            for line in &lines {
                page.text_right(RIGHT, detail_baseline, TEXT, line, fonts);
                detail_baseline += 13.0;
            }
            page.rule(DETAILS_LEFT, RIGHT, detail_baseline - 8.4, 0.5, LIGHT);
            detail_baseline += 3.4;
        }
        self.y = baseline.max(detail_baseline);
    }

    fn headline(&mut self) {
        let (invoice, fonts) = (self.invoice, self.fonts);
        self.y += 34.0;
        let title = format!("{} {}", labels::title(invoice), invoice.number);
        let (y, page) = (self.y, &mut self.current);
        page.text(LEFT, y, Style::bold(17.0), fonts.wrap(&title, Weight::Bold, 17.0, RIGHT - LEFT, 1).concat());
        let summary = labels::summary(invoice);
        let summary = fonts.wrap(&summary, Weight::Regular, 9.6, RIGHT - LEFT, 1).concat();
        page.text(LEFT, y + 17.0, Style::regular(9.6).in_colour(MUTED), summary);
        self.y += 36.0;
    }

    /// The VAT summary on the left and the totals on the right, always on one page.
    fn vat_and_totals(&mut self) {
        let notes = self.vat_notes();
        let groups = self.invoice.vat_groups.len() as f32;
        let vat_height = 34.0 + groups * 15.0 + notes.len() as f32 * 10.6;
        self.ensure_room(vat_height.max(118.0) + 14.0);
        self.y += 22.0;
        let vat_bottom = self.vat_summary(&notes);
        let totals_bottom = self.totals();
        self.y = vat_bottom.max(totals_bottom);
    }

    fn vat_summary(&mut self, notes: &[String]) -> f32 {
        let (invoice, fonts, top) = (self.invoice, self.fonts, self.y);
        let page = &mut self.current;
        let (taxable_right, vat_right) = (LEFT + 176.0, LEFT + 246.0);
        page.text(LEFT, top, LABEL, "VAT summary");
        page.text_right(taxable_right, top, LABEL, "Taxable", fonts);
        page.text_right(vat_right, top, LABEL, "VAT", fonts);
        page.rule(LEFT, vat_right, top + 5.6, 0.5, MUTED);
        let mut baseline = top + 18.0;
        for group in &invoice.vat_groups {
            page.text(LEFT, baseline, TEXT, labels::vat_group(group.vat));
            page.text_right(taxable_right, baseline, TEXT, labels::amount(&invoice.currency, group.taxable), fonts);
            page.text_right(vat_right, baseline, TEXT, labels::amount(&invoice.currency, group.amount), fonts);
            baseline += 15.0;
        }
        for note in notes {
            page.text(LEFT, baseline, SMALL, note);
            baseline += 10.6;
        }
        baseline
    }

    fn vat_notes(&self) -> Vec<String> {
        let invoice = self.invoice;
        let mut notes = Vec::new();
        if invoice.vat_groups.iter().any(|group| group.vat.category.needs_reason()) {
            notes.extend(invoice.exemption_reason.clone());
        }
        if let Some(accounting) = &invoice.vat_in_accounting_currency {
            let amount = labels::money(&accounting.currency, accounting.amount);
            let remark = accounting.remark.as_ref().map(|remark| format!(" ({remark})")).unwrap_or_default();
            notes.push(format!("VAT amounts to {amount}{remark}"));
        }
        let wrap = |note: &String| self.fonts.wrap(note, Weight::Regular, SMALL.size, 246.0, 4);
        notes.iter().flat_map(wrap).collect()
    }

    fn totals(&mut self) -> f32 {
        let (invoice, fonts, accent) = (self.invoice, self.fonts, self.branding.accent);
        let (currency, totals) = (&invoice.currency, &invoice.totals);
        let mut rows = vec![("Net total", totals.net), ("VAT", totals.vat), ("Total", totals.gross)];
        if totals.paid != 0 {
            let name = match (is_credit_note(invoice), invoice.is_void) {
                (true, _) => "Settled",
                (false, true) => "Void",
                (false, false) => "Paid",
            };
            rows.push((name, totals.paid.saturating_neg()));
        }
        let mut baseline = self.y;
        let page = &mut self.current;
        for (name, value) in rows {
            let style = if name == "Total" { Style::bold(8.8) } else { TEXT };
            page.text(TOTALS_LEFT, baseline, style, name);
            page.text_right(RIGHT, baseline, style, labels::amount(currency, value), fonts);
            page.rule(TOTALS_LEFT, RIGHT, baseline + 5.6, 0.5, LIGHT);
            baseline += 17.0;
        }
        let name = match (is_credit_note(invoice), totals.paid) {
            (false, _) => "Amount due",
            (true, 0) => "Amount credited",
            (true, _) => "Left to credit",
        };
        let style = Style::bold(10.6).in_colour(readable_on(accent));
        page.rect(TOTALS_LEFT, baseline - 7.0, RIGHT - TOTALS_LEFT, 27.0, accent);
        page.text(TOTALS_LEFT + 9.0, baseline + 10.4, style, name);
        page.text_right(RIGHT - 9.0, baseline + 10.4, style, labels::money(currency, totals.due), fonts);
        baseline + 30.0
    }

    fn payment(&mut self) {
        let invoice = self.invoice;
        let mut instructions: Vec<String> = invoice.payment_terms.iter().cloned().collect();
        let is_payable = invoice.totals.due > 0 && !is_credit_note(invoice);
        if let Some(iban) = invoice.seller.iban.as_ref().filter(|_| is_payable) {
            let (name, number) = (&invoice.seller.name, &invoice.number);
            instructions.push(format!("Please transfer to {iban}, {name}, quoting invoice {number}."));
        }
        self.paragraphs(if is_credit_note(invoice) { "Settlement" } else { "Payment" }, &instructions);
        self.paragraphs("Notes", &invoice.notes);
    }

    fn paragraphs(&mut self, heading: &str, paragraphs: &[String]) {
        let wrap = |text: &String| self.fonts.wrap(text, Weight::Regular, TEXT.size, RIGHT - LEFT, 40);
        let lines: Vec<String> = paragraphs.iter().flat_map(wrap).collect();
        if lines.is_empty() {
            return;
        }
        // Two lines of text stay with their heading.
        self.ensure_room(26.0 + 2.0 * LEADING);
        self.y += 24.0;
        let y = self.y;
        self.current.text(LEFT, y, LABEL, heading);
        self.y += 4.0;
        for line in lines {
            self.ensure_room(LEADING);
            self.y += LEADING;
            let y = self.y;
            self.current.text(LEFT, y, TEXT, line);
        }
    }

    /// Adds the footer to every page, now that their number is known.
    fn finish(mut self) -> Vec<Page> {
        self.pages.push(self.current);
        let (seller, fonts) = (&self.invoice.seller, self.fonts);
        let mut footer = self.branding.footer.clone();
        if footer.is_empty() {
            let registration = seller.registration_id.as_ref().map(|id| format!("Registered {id}"));
            let vat = seller.vat_id.as_ref().map(|id| format!("VAT {id}"));
            let details = [Some(seller.name.clone()), registration, vat, seller.iban.clone()];
            footer.push(details.into_iter().flatten().collect::<Vec<_>>().join("  ·  "));
        }
        let pages = self.pages.len();
        for (index, page) in self.pages.iter_mut().enumerate() {
            page.rule(LEFT, RIGHT, FOOTER_TOP, 0.5, LIGHT);
            for (row, text) in footer.iter().take(3).enumerate() {
                let text = fonts.wrap(text, Weight::Regular, SMALL.size, RIGHT - LEFT - 70.0, 1).concat();
                page.text(LEFT, FOOTER_TOP + 14.0 + row as f32 * 10.4, SMALL, text);
            }
            page.text_right(RIGHT, FOOTER_TOP + 14.0, SMALL, format!("Page {} of {pages}", index + 1), fonts);
        }
        self.pages
    }
}

fn is_credit_note(invoice: &Invoice) -> bool {
    matches!(invoice.kind, Kind::CreditNote { .. })
}

fn details(invoice: &Invoice) -> Vec<(&'static str, String)> {
    let mut details = vec![("Number", invoice.number.clone()), ("Date", invoice.issue_date.in_words())];
    if let Kind::CreditNote { invoice_number, .. } = &invoice.kind {
        details.push(("Credits invoice", invoice_number.clone()));
    }
    details.extend(invoice.due_date.map(|due| ("Due", due.in_words())));
    details.extend(invoice.supply_period.map(|period| ("Supplied", labels::period(period))));
    details.extend(invoice.buyer.reference.clone().map(|reference| ("Your reference", reference)));
    details
}

fn address_lines(address: &Address) -> Vec<String> {
    let city = match &address.postcode {
        Some(postcode) => format!("{postcode} {}", address.city),
        None => address.city.clone(),
    };
    let lines = address.lines.iter().take(3).cloned();
    lines.chain([city, address.country_name.clone()]).filter(|line| !line.trim().is_empty()).collect()
}

/// White or ink, whichever has more contrast.
fn readable_on([red, green, blue]: Colour) -> Colour {
    let brightness = 299 * u32::from(red) + 587 * u32::from(green) + 114 * u32::from(blue);
    if brightness > 150_000 { INK } else { WHITE }
}
