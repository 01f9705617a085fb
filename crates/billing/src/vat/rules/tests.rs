#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use proptest::prelude::*;

use super::*;
use platform::outside::vies::Proof;
use values::Currency;

const RATE: Rate = Rate(2100);

fn home() -> Home {
    Home { country: "NL".parse().unwrap(), rate: RATE }
}

/// A customer by its country, its id and what is known of the id.
fn buyer(country: &str, vat_id: &str, status: VatStatus) -> Buyer {
    let country = country.parse().unwrap_or(Country::UNKNOWN);
    Buyer { country, status, vat_id: vat_id.parse().ok(), is_reseller: false, treatment: None }
}

#[track_caller]
fn owes(buyer: &Buyer, category: Category) {
    let rate = if category == Category::Standard { RATE } else { Rate::ZERO };
    assert_eq!(decide(home(), buyer), Decision { category, rate }, "{buyer:?}");
}

#[test]
fn a_domestic_customer_pays_the_home_rate() {
    owes(&buyer("NL", "", VatStatus::NotVerified), Category::Standard);
    owes(&buyer("NL", "NL123456782B90", VatStatus::Valid), Category::Standard);
}

#[test]
fn a_domestic_reseller_with_a_valid_id_gets_reverse_charge() {
    for (status, category) in [(VatStatus::Valid, Category::ReverseCharge), (VatStatus::Pending, Category::Standard)] {
        owes(&Buyer { is_reseller: true, ..buyer("NL", "NL123456782B90", status) }, category);
    }
    owes(&Buyer { is_reseller: true, ..buyer("NL", "", VatStatus::Valid) }, Category::Standard);
}

#[test]
fn an_eu_business_with_a_valid_id_gets_reverse_charge() {
    owes(&buyer("DE", "DE136695976", VatStatus::Valid), Category::ReverseCharge);
    owes(&buyer("GR", "EL094259216", VatStatus::Valid), Category::ReverseCharge);
    owes(&buyer("MC", "FR40303265045", VatStatus::Valid), Category::ReverseCharge);
}

#[test]
fn an_eu_customer_without_a_valid_id_pays_the_home_rate() {
    for &status in VatStatus::ALL {
        if !matches!(status, VatStatus::Valid | VatStatus::Exempt) {
            owes(&buyer("DE", "DE136695976", status), Category::Standard);
        }
    }
    owes(&buyer("DE", "", VatStatus::Valid), Category::Standard);
}

#[test]
fn a_home_country_vat_id_means_an_establishment_there() {
    owes(&buyer("DE", "NL123456782B90", VatStatus::Valid), Category::Standard);
}

#[test]
fn customers_outside_the_eu_pay_no_vat() {
    for country in ["US", "GB", "CH", "NO"] {
        owes(&buyer(country, "", VatStatus::NotVerified), Category::OutsideScope);
    }
    owes(&buyer("US", "DE136695976", VatStatus::Valid), Category::OutsideScope);
}

#[test]
fn a_customer_of_unknown_country_pays_the_home_rate() {
    owes(&buyer("?", "DE136695976", VatStatus::Valid), Category::Standard);
}

#[test]
fn an_exempt_customer_pays_no_vat() {
    owes(&buyer("NL", "", VatStatus::Exempt), Category::Exempt);
    owes(&buyer("DE", "", VatStatus::Exempt), Category::Exempt);
}

#[test]
fn the_treatment_set_by_the_team_overrides_the_rules() {
    let decided = |treatment, buyer: Buyer| Buyer { treatment: Some(treatment), ..buyer };
    for country in ["NL", "DE", "US"] {
        for status in [VatStatus::Valid, VatStatus::Exempt, VatStatus::NotVerified] {
            let customer = buyer(country, "DE136695976", status);
            owes(&decided(VatTreatment::Standard, customer.clone()), Category::Standard);
            owes(&decided(VatTreatment::OutsideScope, customer.clone()), Category::OutsideScope);
            owes(&decided(VatTreatment::ReverseCharge, customer), Category::ReverseCharge);
        }
    }
    owes(&decided(VatTreatment::ReverseCharge, buyer("NL", "", VatStatus::Valid)), Category::Standard);
}

fn status() -> impl Strategy<Value = VatStatus> {
    proptest::sample::select(VatStatus::ALL)
}

fn verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![
        Just(Verdict::Valid(Proof::default())),
        Just(Verdict::Invalid),
        Just(Verdict::Plausible),
        Just(Verdict::Unknown("away".to_owned())),
    ]
}

proptest! {
    #[test]
    fn vat_is_rounded_half_away_from_zero(minor in -9_000_000_000i64..9_000_000_000, rate in 0i64..5000) {
        let net = Money::from_minor(minor, Currency::EUR).unwrap();
        let vat = Rate(rate).on(net).unwrap();
        let (twice, exact) = (i128::from(vat.minor()) * 20_000, i128::from(minor) * i128::from(rate) * 2);
        prop_assert!((twice - exact).abs() <= 10_000, "{net} {vat}");
        prop_assert_eq!(Money::from_minor(vat.minor(), Currency::EUR).unwrap(), vat);
        prop_assert_eq!(Rate(rate).on(net.neg().unwrap()).unwrap(), vat.neg().unwrap());
    }

    #[test]
    fn only_an_answer_makes_an_id_valid_or_invalid(
        first in status(), verdicts in proptest::collection::vec(verdict(), 1..20),
    ) {
        let mut current = first;
        for result in verdicts {
            let next = after_verdict(current, &result);
            prop_assert!(current == next || next != VatStatus::Invalid || result == Verdict::Invalid);
            prop_assert!(current == next || next != VatStatus::Valid || matches!(result, Verdict::Valid(_)));
            prop_assert!(current != VatStatus::Exempt || next == VatStatus::Exempt);
            prop_assert!(next != VatStatus::Exempt || current == VatStatus::Exempt);
            current = next;
        }
    }

    #[test]
    fn the_next_check_is_after_a_minute_and_within_a_month(result in verdict(), failures: i64) {
        let now = Time::from_millis(1_900_000_000_000);
        match next_check(&result, failures, now) {
            Some(next) => prop_assert!(next >= now.plus(MIN_RETRY_PAUSE) && next <= now.plus(MONTH)),
            None => prop_assert_eq!(result, Verdict::Invalid),
        }
    }
}

#[test]
fn half_a_cent_of_vat_rounds_to_a_cent() {
    let vat = |minor| Rate(2100).on(Money::from_minor(minor, Currency::EUR).unwrap()).unwrap().minor();
    // 21 % of 50 cents is 10.5.
    assert_eq!((vat(50), vat(-50), vat(2), vat(3)), (11, -11, 0, 1));
}

#[test]
fn a_check_request_or_evidence_makes_an_id_pending() {
    for &status in VatStatus::ALL {
        match status {
            VatStatus::Valid => assert_eq!((after_request(status), after_evidence(status)), (Some(status), status)),
            VatStatus::Exempt => assert_eq!((after_request(status), after_evidence(status)), (None, status)),
            _ => assert_eq!(
                (after_request(status), after_evidence(status)),
                (Some(VatStatus::Pending), VatStatus::Pending)
            ),
        }
    }
}
