//! The table of lines: a head on every page, and the sum so far carried over each break.

use super::fonts::{Fonts, Weight};
use super::letter::{BOTTOM, LEFT, Letter, RIGHT};
use super::sheet::{HAIR, MUTED, Sheet, Style};
use super::words;
use crate::model::{Invoice, Line};

const TEXT: Style = Style::regular(8.8);
const HEAD: Style = Style::bold(7.6).in_colour(MUTED);
const CARRIED: Style = Style::regular(8.8).in_colour(MUTED);
const LEADING: f32 = 11.6;
const PADDING: f32 = 3.9;
/// From the top of a line of text to its baseline.
const ASCENT: f32 = 8.6;
const HEAD_HEIGHT: f32 = 19.0;
const CARRIED_HEIGHT: f32 = 20.0;
/// More would crowd out the other lines; the XML has the whole text.
const MOST_LINES: usize = 12;

const DESCRIPTION: f32 = LEFT + 28.0;
const DESCRIPTION_WIDTH: f32 = 200.0;
const QUANTITY_ENDS: f32 = LEFT + 304.0;
const PRICE_ENDS: f32 = LEFT + 366.0;
const VAT_ENDS: f32 = LEFT + 412.0;

/// Sets all lines of the invoice, over as many pages as they take.
pub(super) fn set(letter: &mut Letter<'_>) {
    let invoice = letter.invoice;
    head(letter);
    let mut carried = 0_i64;
    for line in &invoice.lines {
        let described = letter.fonts.wrap(&line.description, Weight::Regular, TEXT.size, DESCRIPTION_WIDTH, MOST_LINES);
        let height = described.len().max(1) as f32 * LEADING + 2.0 * PADDING;
        if letter.y + height + CARRIED_HEIGHT > BOTTOM {
            carry(letter, "Carried forward", carried);
            letter.turn_page();
            head(letter);
            carry(letter, "Brought forward", carried);
        }
        let (y, fonts) = (letter.y, letter.fonts);
        row(letter.sheet(), y, line, &described, invoice, fonts);
        letter.y += height;
        let bottom = letter.y;
        letter.sheet().rule(LEFT, RIGHT, bottom, 0.5, HAIR);
        carried = carried.saturating_add(line.net);
    }
}

fn head(letter: &mut Letter<'_>) {
    let (baseline, fonts, accent) = (letter.y + 10.0, letter.fonts, letter.look.accent);
    let currency = letter.invoice.currency.code.clone();
    let bottom = letter.y + HEAD_HEIGHT - 3.0;
    let sheet = letter.sheet();
    sheet.text(LEFT, baseline, HEAD, "No.");
    sheet.text(DESCRIPTION, baseline, HEAD, "Description");
    let columns = [(QUANTITY_ENDS, "Quantity"), (PRICE_ENDS, "Unit price"), (VAT_ENDS, "VAT")];
    for (right, name) in columns {
        sheet.text_to(right, baseline, HEAD, name, fonts);
    }
    sheet.text_to(RIGHT, baseline, HEAD, format!("Net, {currency}"), fonts);
    sheet.rule(LEFT, RIGHT, bottom, 1.2, accent);
    letter.y += HEAD_HEIGHT - 2.0;
}

fn row(sheet: &mut Sheet, top: f32, line: &Line, described: &[String], invoice: &Invoice, fonts: &Fonts) {
    let baseline = top + PADDING + ASCENT;
    // An id longer than its column would run into the description.
    let id = fonts.wrap(&line.id, Weight::Regular, TEXT.size, DESCRIPTION - LEFT - 4.0, 1);
    sheet.text(LEFT, baseline, TEXT.in_colour(MUTED), id.concat());
    for (index, text) in described.iter().enumerate() {
        sheet.text(DESCRIPTION, baseline + index as f32 * LEADING, TEXT, text);
    }
    let cells = [
        (DESCRIPTION + DESCRIPTION_WIDTH, QUANTITY_ENDS, words::quantity(line)),
        (QUANTITY_ENDS, PRICE_ENDS, words::price(line.unit_price, &invoice.currency)),
        (PRICE_ENDS, VAT_ENDS, words::rate(line.vat)),
        (VAT_ENDS, RIGHT, words::amount(&invoice.currency, line.net)),
    ];
    for (left, right, text) in cells {
        // A number is never cut: a very long one is set smaller.
        let width = fonts.width(&text, TEXT.weight, TEXT.size);
        let size = TEXT.size * ((right - left - 6.0) / width).min(1.0);
        sheet.text_to(right, baseline, Style { size, ..TEXT }, text, fonts);
    }
}

fn carry(letter: &mut Letter<'_>, what: &str, amount: i64) {
    let (baseline, fonts) = (letter.y + PADDING + ASCENT, letter.fonts);
    let amount = words::amount(&letter.invoice.currency, amount);
    letter.y += CARRIED_HEIGHT;
    let bottom = letter.y;
    let sheet = letter.sheet();
    sheet.text(DESCRIPTION, baseline, CARRIED, what);
    sheet.text_to(RIGHT, baseline, CARRIED, amount, fonts);
    sheet.rule(LEFT, RIGHT, bottom, 0.5, HAIR);
}
