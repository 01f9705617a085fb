//! The business rules of EN 16931: valid invoices pass, and each violation is reported by its rule.

use einvoice::{Currency, Decimal, Invoice, Kind, Period, Totals, Unit, VatCategory, vat_groups};
use proptest::prelude::*;

use crate::samples::{self, date, decimal, line, standard, summed, without_vat};

fn broken(change: impl FnOnce(&mut Invoice), mut invoice: Invoice) -> Vec<&'static str> {
    change(&mut invoice);
    let violations = invoice.check().expect_err("the change breaks a rule");
    violations.into_iter().map(|violation| violation.rule).collect()
}

#[test]
fn every_sample_passes() {
    for (name, invoice) in samples::all() {
        assert_eq!(invoice.check(), Ok(()), "{name}");
    }
}

#[test]
fn totals_that_do_not_add_up_are_reported() {
    let broken = |change: fn(&mut Invoice)| broken(change, samples::mixed_rates());
    assert_eq!(broken(|i| i.totals.lines += 1), ["BR-CO-10", "BR-CO-13"]);
    assert_eq!(broken(|i| i.totals.net += 1), ["BR-CO-13", "BR-CO-15"]);
    assert_eq!(broken(|i| i.totals.vat += 1), ["BR-CO-14", "BR-CO-15"]);
    assert_eq!(broken(|i| i.totals.gross += 1), ["BR-CO-15", "BR-CO-16"]);
    assert_eq!(broken(|i| i.totals.paid += 1), ["BR-CO-16"]);
    assert_eq!(broken(|i| i.totals.due += 1), ["BR-CO-16"]);
    assert_eq!(broken(|i| i.vat_groups[1].amount += 1), ["BR-CO-14", "BR-CO-17"]);
    assert_eq!(broken(|i| i.vat_groups[1].taxable += 500), ["BR-S-08", "BR-CO-17"]);
    assert_eq!(broken(|i| i.lines[0].net += 1), ["BT-131", "BR-CO-10", "BR-S-08"]);
}

#[test]
fn missing_or_invalid_fields_are_reported() {
    let broken = |change: fn(&mut Invoice)| broken(change, samples::domestic());
    assert_eq!(broken(|i| i.number = "\u{0} ".to_owned()), ["BR-02"]);
    assert_eq!(broken(|i| i.currency.code = "eur".to_owned()), ["BR-05"]);
    assert_eq!(broken(|i| i.buyer.name.clear()), ["BR-07"]);
    assert_eq!(broken(|i| i.buyer.address.country = "Netherlands".to_owned()), ["BR-11"]);
    assert_eq!(
        broken(|i| i.supply_period = Some(Period { first: date(2026, 11, 2), last: date(2026, 11, 1) })),
        ["BR-29"]
    );
    assert_eq!(broken(|i| i.lines[2].description.clear()), ["BR-25"]);
    assert_eq!(broken(|i| i.buyer.vat_id = Some("801234567".to_owned())), ["BR-CO-09"]);
    let of_nothing = Kind::CreditNote { invoice_number: String::new(), invoice_date: date(2026, 1, 1) };
    assert_eq!(super::rules::broken(|i| i.kind = of_nothing, samples::credit_note()), ["BR-55"]);
    assert_eq!(broken(|i| (i.due_date, i.payment_terms) = (None, None)), ["BR-CO-25"]);
    let dinars = Currency { code: "KWD".to_owned(), places: 3 };
    assert!(super::rules::broken(|i| i.currency = dinars, samples::domestic()).contains(&"BR-DEC-09"));
}

#[test]
fn each_vat_category_has_its_own_rules() {
    let reverse = |change: fn(&mut Invoice)| broken(change, samples::reverse_charge());
    assert_eq!(reverse(|i| i.buyer.vat_id = None), ["BR-AE-02"]);
    assert_eq!(reverse(|i| i.seller.vat_id = None), ["BR-AE-02"]);
    assert_eq!(reverse(|i| i.exemption_reason = None), ["BR-AE-10"]);
    let outside = |change: fn(&mut Invoice)| broken(change, samples::outside_scope());
    assert_eq!(outside(|i| i.seller.vat_id = Some("NL812345678B01".to_owned())), ["BR-O-02"]);
    assert_eq!(outside(|i| i.exemption_reason = Some(" ".to_owned())), ["BR-O-10"]);
    assert_eq!(outside(|i| i.seller.registration_id = None), ["BR-CO-26"]);
    assert_eq!(broken(|i| i.exemption_reason = None, samples::exempt()), ["BR-E-10"]);
    assert_eq!(broken(|i| i.seller.vat_id = None, samples::domestic()), ["BR-S-02"]);
    let free = |i: &mut Invoice| {
        i.lines.iter_mut().for_each(|line| line.vat = standard(0));
        *i = summed(i.clone(), 0);
    };
    assert_eq!(broken(free, samples::domestic()), ["BR-S-05"]);
    let beside = |i: &mut Invoice| {
        i.lines[0].vat = standard(21);
        *i = summed(i.clone(), 0);
    };
    assert_eq!(broken(beside, samples::outside_scope()), ["BR-S-02", "BR-O-11"]);
}

#[test]
fn vat_is_rounded_once_per_group_half_up() {
    // Three lines of 0.05 at 21 %: 0.0105 each would round to three cents, their sum of 0.0315 does too; at 10 % each
    // 0.005 would round to 0.01, together 0.015 rounds to 0.02.
    let lines: Vec<_> =
        (1..=3).map(|id| line(id, "x", Decimal::whole(1), Unit::One, decimal(5, 2), standard(10))).collect();
    let groups = vat_groups(&lines).unwrap();
    assert_eq!((groups.len(), groups[0].taxable, groups[0].amount), (1, 15, 2));
    assert_eq!(Totals::of(&groups, 0).unwrap().gross, 17);
}

proptest! {
    #[test]
    fn computed_totals_pass_for_any_lines(
        rows in proptest::collection::vec(
            (-1_000_000_i64..10_000_000, 0_u32..3, 0_i64..100_000, 0_u32..6, 0_usize..4), 1..40,
        ),
        paid in 0_i64..1_000_000,
    ) {
        let vats = [standard(21), standard(9), without_vat(VatCategory::ZeroRated), without_vat(VatCategory::Exempt)];
        let lines = rows.iter().enumerate().map(|(index, (units, places, price, price_places, vat))| {
            let (quantity, price) = (decimal(*units, *places), decimal(*price, *price_places));
            line(index + 1, "calls", quantity, Unit::Minute, price, vats[*vat])
        });
        let exemption_reason = Some("why".to_owned());
        let invoice = Invoice { lines: lines.collect(), exemption_reason, ..samples::domestic() };
        prop_assert_eq!(summed(invoice, paid).check(), Ok(()));
    }
}
