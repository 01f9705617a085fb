//! Lays out the table of invoice lines: a header row on every page, and the running net total carried over page breaks.

use super::fonts::{Fonts, Weight};
use super::labels;
use super::layout::{BODY_BOTTOM, LEFT, Layout, RIGHT};
use super::page::{LIGHT, MUTED, Page, Style};
use crate::model::{Invoice, Line};

const TEXT: Style = Style::regular(8.8);
const HEADER: Style = Style::bold(7.6).in_colour(MUTED);
const CARRIED: Style = Style::regular(8.8).in_colour(MUTED);
const LEADING: f32 = 11.6;
const PADDING: f32 = 3.9;
/// From the top of a line of text to its baseline.
const ASCENT: f32 = 8.6;
const HEADER_HEIGHT: f32 = 19.0;
const CARRIED_HEIGHT: f32 = 20.0;
/// A longer description ends in an ellipsis; the XML has the whole text.
const MAX_DESCRIPTION_LINES: usize = 12;

const DESCRIPTION_LEFT: f32 = LEFT + 28.0;
const DESCRIPTION_WIDTH: f32 = 200.0;
const QUANTITY_RIGHT: f32 = LEFT + 304.0;
const PRICE_RIGHT: f32 = LEFT + 366.0;
const VAT_RIGHT: f32 = LEFT + 412.0;

/// Adds all lines of the invoice, over as many pages as they take.
pub(super) fn add_lines(layout: &mut Layout<'_>) {
    let invoice = layout.invoice;
    header_row(layout);
    let mut carried = 0_i64;
    for line in &invoice.lines {
        let (text, width) = (&line.description, DESCRIPTION_WIDTH);
        let description = layout.fonts.wrap(text, Weight::Regular, TEXT.size, width, MAX_DESCRIPTION_LINES);
        let height = description.len().max(1) as f32 * LEADING + 2.0 * PADDING;
        if layout.y + height + CARRIED_HEIGHT > BODY_BOTTOM {
            carried_row(layout, "Carried forward", carried);
            layout.start_page();
            header_row(layout);
            carried_row(layout, "Brought forward", carried);
        }
        let (y, fonts) = (layout.y, layout.fonts);
        line_row(layout.page(), y, line, &description, invoice, fonts);
        layout.y += height;
        let bottom = layout.y;
        layout.page().rule(LEFT, RIGHT, bottom, 0.5, LIGHT);
        carried = carried.saturating_add(line.net);
    }
}

fn header_row(layout: &mut Layout<'_>) {
    let (baseline, fonts, accent) = (layout.y + 10.0, layout.fonts, layout.branding.accent);
    let currency = layout.invoice.currency.code.clone();
    let bottom = layout.y + HEADER_HEIGHT - 3.0;
    let page = layout.page();
    page.text(LEFT, baseline, HEADER, "No.");
    page.text(DESCRIPTION_LEFT, baseline, HEADER, "Description");
    let columns = [(QUANTITY_RIGHT, "Quantity"), (PRICE_RIGHT, "Unit price"), (VAT_RIGHT, "VAT")];
    for (right, name) in columns {
        page.text_right(right, baseline, HEADER, name, fonts);
    }
    page.text_right(RIGHT, baseline, HEADER, format!("Net, {currency}"), fonts);
    page.rule(LEFT, RIGHT, bottom, 1.2, accent);
    layout.y += HEADER_HEIGHT - 2.0;
}

fn line_row(page: &mut Page, top: f32, line: &Line, description: &[String], invoice: &Invoice, fonts: &Fonts) {
    let baseline = top + PADDING + ASCENT;
    // Cut to its column.
    let id = fonts.wrap(&line.id, Weight::Regular, TEXT.size, DESCRIPTION_LEFT - LEFT - 4.0, 1);
    page.text(LEFT, baseline, TEXT.in_colour(MUTED), id.concat());
    for (index, text) in description.iter().enumerate() {
        page.text(DESCRIPTION_LEFT, baseline + index as f32 * LEADING, TEXT, text);
    }
    let cells = [
        (DESCRIPTION_LEFT + DESCRIPTION_WIDTH, QUANTITY_RIGHT, labels::quantity(line)),
        (QUANTITY_RIGHT, PRICE_RIGHT, labels::price(line.unit_price, &invoice.currency)),
        (PRICE_RIGHT, VAT_RIGHT, labels::line_vat(line.vat)),
        (VAT_RIGHT, RIGHT, labels::amount(&invoice.currency, line.net)),
    ];
    for (left, right, text) in cells {
        // A number is never cut; one wider than its column is set smaller.
        let width = fonts.width(&text, TEXT.weight, TEXT.size);
        let size = TEXT.size * ((right - left - 6.0) / width).min(1.0);
        page.text_right(right, baseline, Style { size, ..TEXT }, text, fonts);
    }
}

fn carried_row(layout: &mut Layout<'_>, label: &str, amount: i64) {
    let (baseline, fonts) = (layout.y + PADDING + ASCENT, layout.fonts);
    let amount = labels::amount(&layout.invoice.currency, amount);
    layout.y += CARRIED_HEIGHT;
    let bottom = layout.y;
    let page = layout.page();
    page.text(DESCRIPTION_LEFT, baseline, CARRIED, label);
    page.text_right(RIGHT, baseline, CARRIED, amount, fonts);
    page.rule(LEFT, RIGHT, bottom, 0.5, LIGHT);
}
