//! Whether an invoice keeps the rules of EN 16931, by their names there.
//!
//! The documents are written from an invoice as it stands; whoever issues one asks here first.

use std::fmt;

use crate::decimal::Decimal;
use crate::model::{Address, Invoice, Kind, VatCategory, VatGroup};
use crate::sums::{sum, vat_on};
use crate::xml::says_something;

/// A rule of the standard that an invoice breaks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Such as `BR-CO-15`.
    pub rule: &'static str,
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.what)
    }
}

#[derive(Default)]
struct Findings(Vec<Violation>);

impl Findings {
    fn demand(&mut self, holds: bool, rule: &'static str, what: impl Into<String>) {
        if !holds {
            self.0.push(Violation { rule, what: what.into() });
        }
    }
}

impl Invoice {
    /// Every rule that the invoice breaks.
    pub fn check(&self) -> Result<(), Vec<Violation>> {
        let mut findings = Findings::default();
        self.check_header(&mut findings);
        self.check_parties(&mut findings);
        self.check_lines(&mut findings);
        self.check_totals(&mut findings);
        self.check_groups(&mut findings);
        if findings.0.is_empty() { Ok(()) } else { Err(findings.0) }
    }

    fn check_header(&self, findings: &mut Findings) {
        findings.demand(says_something(&self.number), "BR-02", "the invoice has no number");
        findings.demand(is_code(&self.currency.code, 3), "BR-05", "the currency is not an ISO 4217 code");
        findings.demand(self.currency.places <= 2, "BR-DEC-09", "amounts have more than two places");
        if let Kind::CreditNote { of, .. } = &self.kind {
            findings.demand(says_something(of), "BR-55", "the credited invoice has no number");
        }
        if let Some(supply) = self.supply {
            findings.demand(supply.first <= supply.last, "BR-29", "the supply ends before it begins");
        }
        let terms = self.payment_terms.as_deref().is_some_and(says_something);
        let payable = self.totals.due > 0;
        let terms_known = !payable || self.due_date.is_some() || terms;
        findings.demand(terms_known, "BR-CO-25", "an amount is due, but neither when nor how");
        if let Some(home) = &self.vat_at_home {
            let other = home.currency.code != self.currency.code;
            findings.demand(other, "BR-53", "the VAT at home is in the invoice's own currency");
            findings.demand(home.currency.places <= 2, "BR-DEC-15", "the VAT at home has more than two places");
        }
    }

    fn check_parties(&self, findings: &mut Findings) {
        let (seller, buyer) = (&self.seller, &self.buyer);
        findings.demand(says_something(&seller.name), "BR-06", "the seller has no name");
        findings.demand(says_something(&buyer.name), "BR-07", "the buyer has no name");
        findings.demand(has_country(&seller.address), "BR-09", "the seller's country is not an ISO 3166-1 code");
        findings.demand(has_country(&buyer.address), "BR-11", "the buyer's country is not an ISO 3166-1 code");
        let known = seller.vat_id.is_some() || seller.registration_id.is_some();
        findings.demand(known, "BR-CO-26", "the seller has neither a VAT id nor a registration");
        for id in [&seller.vat_id, &buyer.vat_id].into_iter().flatten() {
            let prefixed = id.get(..2).is_some_and(|prefix| is_code(prefix, 2)) && id.len() > 2;
            findings.demand(prefixed, "BR-CO-09", "a VAT id does not begin with its country");
        }
        if let Some(iban) = &seller.iban {
            findings.demand(says_something(iban), "BR-50", "the account to pay to is empty");
        }
    }

    fn check_lines(&self, findings: &mut Findings) {
        findings.demand(!self.lines.is_empty(), "BR-16", "the invoice has no line");
        for line in &self.lines {
            let id = &line.id;
            findings.demand(says_something(id), "BR-21", "a line has no id");
            findings.demand(says_something(&line.description), "BR-25", format!("line {id} has no description"));
            findings.demand(!line.unit_price.is_negative(), "BR-27", format!("the price of line {id} is negative"));
            let product = line.quantity.times(line.unit_price, self.currency.places);
            let what = format!("line {id} is {} × {}, which is not its amount", line.quantity, line.unit_price);
            findings.demand(product == Ok(line.net), "BT-131", what);
            let grouped = self.vat_groups.iter().any(|group| group.vat == line.vat);
            findings.demand(grouped, "BR-CO-18", format!("the VAT of line {id} is in no group"));
        }
    }

    fn check_totals(&self, findings: &mut Findings) {
        let totals = &self.totals;
        let lines = sum(self.lines.iter().map(|line| line.net));
        findings.demand(lines == Ok(totals.lines), "BR-CO-10", "the total of the lines is not their sum");
        findings.demand(totals.net == totals.lines, "BR-CO-13", "the net total is not the total of the lines");
        let vat = sum(self.vat_groups.iter().map(|group| group.amount));
        findings.demand(vat == Ok(totals.vat), "BR-CO-14", "the VAT is not the sum of its groups");
        let gross = sum([totals.net, totals.vat]);
        findings.demand(gross == Ok(totals.gross), "BR-CO-15", "the total is not net and VAT");
        let due = totals.gross.checked_sub(totals.paid);
        findings.demand(due == Some(totals.due), "BR-CO-16", "the amount due is not the total less what was paid");
    }

    fn check_groups(&self, findings: &mut Findings) {
        findings.demand(!self.vat_groups.is_empty(), "BR-CO-18", "there is no VAT breakdown");
        for (index, group) in self.vat_groups.iter().enumerate() {
            let repeated = self.vat_groups.iter().take(index).any(|earlier| earlier.vat == group.vat);
            findings.demand(!repeated, "BR-CO-18", "a category and rate of VAT has two groups");
            let taxable = sum(self.lines.iter().filter(|line| line.vat == group.vat).map(|line| line.net));
            findings.demand(
                taxable == Ok(group.taxable),
                rule(group, ["BR-S-08", "BR-Z-08", "BR-E-08", "BR-AE-08", "BR-O-08"]),
                "a taxable amount is not the sum of its lines",
            );
            let amount = vat_on(group.taxable, group.vat);
            findings.demand(amount == Ok(group.amount), "BR-CO-17", "the VAT of a group is not its rate of the amount");
            self.check_category(group, findings);
        }
    }

    fn check_category(&self, group: &VatGroup, findings: &mut Findings) {
        let category = group.vat.category;
        let (seller, buyer) = (self.seller.vat_id.is_some(), self.buyer.vat_id.is_some());
        let (ids, wanted) = match category {
            VatCategory::OutsideScope => (!seller && !buyer, "no VAT id of either party"),
            VatCategory::ReverseCharge => (seller && buyer, "the VAT ids of both parties"),
            _ => (seller, "the seller's VAT id"),
        };
        let code = category.code();
        let ids_rule = rule(group, ["BR-S-02", "BR-Z-02", "BR-E-02", "BR-AE-02", "BR-O-02"]);
        findings.demand(ids, ids_rule, format!("category {code} takes {wanted}"));

        let rate = group.vat.rate;
        let rated = if category == VatCategory::Standard {
            rate != Decimal::ZERO && !rate.is_negative()
        } else {
            rate == Decimal::ZERO
        };
        let rate_rule = rule(group, ["BR-S-05", "BR-Z-05", "BR-E-05", "BR-AE-05", "BR-O-05"]);
        findings.demand(rated, rate_rule, format!("category {code} cannot have a rate of {rate} %"));

        let reasoned = !category.needs_reason() || self.exemption_reason.as_deref().is_some_and(says_something);
        let reason_rule = rule(group, ["BR-S-10", "BR-Z-10", "BR-E-10", "BR-AE-10", "BR-O-10"]);
        findings.demand(reasoned, reason_rule, format!("category {code} takes a reason"));

        let alone = category != VatCategory::OutsideScope || self.vat_groups.len() == 1;
        findings.demand(alone, "BR-O-11", "category O stands beside another");
    }
}

/// The name that a rule has for the group's category, of those for S, Z, E, AE and O.
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
