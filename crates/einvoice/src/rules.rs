//! Checks an invoice against the business rules of EN 16931, by their names in the standard (`BR-CO-15`).
//!
//! [`cii`](crate::cii()), [`ubl`](crate::ubl()) and [`pdf`](crate::pdf()) do not check anything, so call
//! [`Invoice::check`] before issuing.

use std::fmt;

use crate::decimal::Decimal;
use crate::model::{Address, Invoice, Kind, VatCategory, VatGroup};
use crate::totals::{sum, vat_on};
use crate::xml::has_text;

/// A rule of the standard that an invoice breaks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Such as `BR-CO-15`.
    pub rule: &'static str,
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.message)
    }
}

#[derive(Default)]
struct Violations(Vec<Violation>);

impl Violations {
    fn require(&mut self, holds: bool, rule: &'static str, message: impl Into<String>) {
        if !holds {
            self.0.push(Violation { rule, message: message.into() });
        }
    }
}

impl Invoice {
    /// Checks all rules and returns those that the invoice breaks.
    pub fn check(&self) -> Result<(), Vec<Violation>> {
        let mut violations = Violations::default();
        self.check_header(&mut violations);
        self.check_parties(&mut violations);
        self.check_lines(&mut violations);
        self.check_totals(&mut violations);
        self.check_groups(&mut violations);
        if violations.0.is_empty() { Ok(()) } else { Err(violations.0) }
    }

    fn check_header(&self, violations: &mut Violations) {
        violations.require(has_text(&self.number), "BR-02", "the invoice has no number");
        violations.require(is_code(&self.currency.code, 3), "BR-05", "the currency is not an ISO 4217 code");
        violations.require(self.currency.places <= 2, "BR-DEC-09", "amounts have more than two decimals");
        if let Kind::CreditNote { invoice_number, .. } = &self.kind {
            violations.require(has_text(invoice_number), "BR-55", "the credited invoice has no number");
        }
        if let Some(period) = self.supply_period {
            violations.require(period.first <= period.last, "BR-29", "the supply period ends before it begins");
        }
        let terms = self.payment_terms.as_deref().is_some_and(has_text);
        let is_payable = self.totals.due > 0;
        let has_terms = !is_payable || self.due_date.is_some() || terms;
        violations.require(has_terms, "BR-CO-25", "an amount is due without a due date or payment terms");
        if let Some(accounting) = &self.vat_in_accounting_currency {
            let differs = accounting.currency.code != self.currency.code;
            violations.require(differs, "BR-53", "the accounting currency is the invoice's own currency");
            let places = accounting.currency.places;
            violations.require(places <= 2, "BR-DEC-15", "the VAT in accounting currency has more than two decimals");
        }
    }

    fn check_parties(&self, violations: &mut Violations) {
        let (seller, buyer) = (&self.seller, &self.buyer);
        violations.require(has_text(&seller.name), "BR-06", "the seller has no name");
        violations.require(has_text(&buyer.name), "BR-07", "the buyer has no name");
        violations.require(has_country(&seller.address), "BR-09", "the seller's country is not an ISO 3166-1 code");
        violations.require(has_country(&buyer.address), "BR-11", "the buyer's country is not an ISO 3166-1 code");
        let is_identified = seller.vat_id.is_some() || seller.registration_id.is_some();
        violations.require(is_identified, "BR-CO-26", "the seller has neither a VAT id nor a registration id");
        for id in [&seller.vat_id, &buyer.vat_id].into_iter().flatten() {
            let has_prefix = id.get(..2).is_some_and(|prefix| is_code(prefix, 2)) && id.len() > 2;
            violations.require(has_prefix, "BR-CO-09", "a VAT id does not begin with its country code");
        }
        if let Some(iban) = &seller.iban {
            violations.require(has_text(iban), "BR-50", "the IBAN to pay to is empty");
        }
    }

    fn check_lines(&self, violations: &mut Violations) {
        violations.require(!self.lines.is_empty(), "BR-16", "the invoice has no line");
        for line in &self.lines {
            let id = &line.id;
            violations.require(has_text(id), "BR-21", "a line has no id");
            violations.require(has_text(&line.description), "BR-25", format!("line {id} has no description"));
            violations.require(!line.unit_price.is_negative(), "BR-27", format!("the price of line {id} is negative"));
            let product = line.quantity.times(line.unit_price, self.currency.places);
            let message = format!("the net amount of line {id} is not {} × {}", line.quantity, line.unit_price);
            violations.require(product == Ok(line.net), "BT-131", message);
            let has_group = self.vat_groups.iter().any(|group| group.vat == line.vat);
            violations.require(has_group, "BR-CO-18", format!("the VAT of line {id} is not in the VAT breakdown"));
        }
    }

    fn check_totals(&self, violations: &mut Violations) {
        let totals = &self.totals;
        let lines = sum(self.lines.iter().map(|line| line.net));
        violations.require(lines == Ok(totals.lines), "BR-CO-10", "the line total is not the sum of the lines");
        violations.require(totals.net == totals.lines, "BR-CO-13", "the net total is not the sum of the lines");
        let vat = sum(self.vat_groups.iter().map(|group| group.amount));
        violations.require(vat == Ok(totals.vat), "BR-CO-14", "the VAT total is not the sum of its groups");
        let gross = sum([totals.net, totals.vat]);
        violations.require(gross == Ok(totals.gross), "BR-CO-15", "the gross total is not net plus VAT");
        let due = totals.gross.checked_sub(totals.paid);
        violations.require(due == Some(totals.due), "BR-CO-16", "the amount due is not gross minus paid");
    }

    fn check_groups(&self, violations: &mut Violations) {
        violations.require(!self.vat_groups.is_empty(), "BR-CO-18", "there is no VAT breakdown");
        for (index, group) in self.vat_groups.iter().enumerate() {
            let is_repeated = self.vat_groups.iter().take(index).any(|earlier| earlier.vat == group.vat);
            violations.require(!is_repeated, "BR-CO-18", "two groups have the same VAT category and rate");
            let taxable = sum(self.lines.iter().filter(|line| line.vat == group.vat).map(|line| line.net));
            violations.require(
                taxable == Ok(group.taxable),
                rule(group, ["BR-S-08", "BR-Z-08", "BR-E-08", "BR-AE-08", "BR-O-08"]),
                "a taxable amount is not the sum of its lines",
            );
            let amount = vat_on(group.taxable, group.vat);
            violations.require(
                amount == Ok(group.amount),
                "BR-CO-17",
                "the VAT of a group is not its rate times its base",
            );
            self.check_category(group, violations);
        }
    }

    fn check_category(&self, group: &VatGroup, violations: &mut Violations) {
        let category = group.vat.category;
        let (seller, buyer) = (self.seller.vat_id.is_some(), self.buyer.vat_id.is_some());
        let (has_ids, required) = match category {
            VatCategory::OutsideScope => (!seller && !buyer, "no VAT id on either party"),
            VatCategory::ReverseCharge => (seller && buyer, "VAT ids of both parties"),
            _ => (seller, "the seller's VAT id"),
        };
        let code = category.code();
        let ids_rule = rule(group, ["BR-S-02", "BR-Z-02", "BR-E-02", "BR-AE-02", "BR-O-02"]);
        violations.require(has_ids, ids_rule, format!("category {code} requires {required}"));

        let rate = group.vat.rate;
        let rate_fits = if category == VatCategory::Standard {
            rate != Decimal::ZERO && !rate.is_negative()
        } else {
            rate == Decimal::ZERO
        };
        let rate_rule = rule(group, ["BR-S-05", "BR-Z-05", "BR-E-05", "BR-AE-05", "BR-O-05"]);
        violations.require(rate_fits, rate_rule, format!("category {code} cannot have a rate of {rate} %"));

        let has_reason = !category.needs_reason() || self.exemption_reason.as_deref().is_some_and(has_text);
        let reason_rule = rule(group, ["BR-S-10", "BR-Z-10", "BR-E-10", "BR-AE-10", "BR-O-10"]);
        violations.require(has_reason, reason_rule, format!("category {code} requires an exemption reason"));

        let is_alone = category != VatCategory::OutsideScope || self.vat_groups.len() == 1;
        violations.require(is_alone, "BR-O-11", "category O must be the only group");
    }
}

/// Picks the rule for the group's category from `names`, given in the order S, Z, E, AE, O.
fn rule(group: &VatGroup, names: [&'static str; 5]) -> &'static str {
    let [standard, zero, exempt, reverse, outside] = names;
    match group.vat.category {
        VatCategory::Standard => standard,
        VatCategory::ZeroRated => zero,
        VatCategory::Exempt => exempt,
        VatCategory::ReverseCharge => reverse,
        VatCategory::OutsideScope => outside,
    }
}

fn has_country(address: &Address) -> bool {
    is_code(&address.country, 2)
}

fn is_code(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| byte.is_ascii_uppercase())
}
