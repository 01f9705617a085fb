//! A year with every VAT case: invoices and ledger agree exactly.

use billing::invoices::Month;
use billing::vat::{self, Ruling, VatTreatment};
use db::params;
use platform::ledger::{self, Book, Entry, Kind, Sum};
use values::{AccountId, Change, Currency, Money};

use crate::world::World;
use crate::world::engines::{both, uuid};
use crate::world::fixtures::invoices::{
    INVOICE_NUMBERS, advance_to_next_month, assert_gapless, balance, call_charge, create_account, eur, euros,
    exact_amount, invoice_numbers, now, post_entry, topup_entry,
};

/// A kind of customer, and the rate it pays.
#[derive(Clone, Copy)]
struct Case {
    country: &'static str,
    vat_id: Option<&'static str>,
    status: &'static str,
    is_reseller: bool,
    treatment: Option<VatTreatment>,
    percent: i64,
}

const fn case(country: &'static str, vat_id: Option<&'static str>, status: &'static str, percent: i64) -> Case {
    Case { country, vat_id, status, is_reseller: false, treatment: None, percent }
}

const DUTCH: Option<&str> = Some("NL123456782B90");
const GERMAN: Option<&str> = Some("DE136695976");

const CASES: [Case; 10] = [
    case("NL", None, "not_verified", 21),
    case("NL", DUTCH, "valid", 21),
    Case { is_reseller: true, ..case("NL", DUTCH, "valid", 0) },
    case("DE", GERMAN, "valid", 0),
    case("DE", GERMAN, "pending", 21),
    case("US", None, "not_verified", 0),
    case("NL", None, "exempt", 0),
    Case { treatment: Some(VatTreatment::Standard), ..case("US", None, "not_verified", 21) },
    Case { treatment: Some(VatTreatment::OutsideScope), ..case("NL", None, "not_verified", 0) },
    Case { treatment: Some(VatTreatment::ReverseCharge), ..case("NL", DUTCH, "not_verified", 0) },
];

async fn customer(world: &World, case: Case) -> AccountId {
    let account = create_account(world).await;
    let standing = world.node.app.db.tx((account, case), |conn, (account, case)| {
        Box::pin(async move {
            conn.exec(
                "UPDATE accounts SET country = $2, vat_id = $3, vat_status = $4 WHERE id = $1",
                params![*account, case.country, case.vat_id, case.status],
            )
            .await?;
            let (treatment, is_reseller) = (Change::Set(case.treatment), Change::Set(case.is_reseller));
            vat::rule(conn, *account, Ruling { status: Change::Absent, treatment, is_reseller }).await
        })
    });
    standing.await.unwrap();
    account
}

/// A month of use whose parts have odd fractions, with a refund and a correction now and then.
async fn use_service(world: &World, account: AccountId, seed: i64) {
    let at = now(world);
    post_entry(world, topup_entry(account, euros(20 + seed % 7)), at).await;
    for number in 1..=3 {
        post_entry(world, call_charge(account, eur(1_234_567_891 * number + seed * 77_777_777)), at).await;
    }
    let reference = || uuid().to_string();
    let order = [(Book::NumberSetup, euros(1)), (Book::NumberRental, eur(2_490_000_000))];
    post_entry(world, Entry::charge(account, Kind::NumberOrder, reference(), &order).unwrap(), at).await;
    let renewal = [(Book::NumberRental, eur(990_000_001))];
    post_entry(world, Entry::charge(account, Kind::NumberRenewal, reference(), &renewal).unwrap(), at).await;
    if seed % 3 == 0 {
        let refund = [(Book::Refunds, eur(3_490_000_000))];
        post_entry(world, Entry::credit(account, Kind::NumberRefund, reference(), &refund).unwrap(), at).await;
    }
    if seed % 4 == 0 {
        let correction = [(Book::Calls, eur(123_456_789))];
        post_entry(world, Entry::credit(account, Kind::Correction, reference(), &correction).unwrap(), at).await;
    }
}

fn total(sums: &[Sum], counts: impl Fn(Kind) -> bool) -> Money {
    let counted = sums.iter().filter(|sum| counts(sum.kind));
    counted.map(|sum| sum.amount).try_fold(euros(0), Money::sub).unwrap()
}

both! {
    async fn a_year_of_every_vat_case_adds_up_to_the_ledger(db) {
        let world = World::unlimited(db).await;
        let mut accounts = Vec::new();
        for case in CASES {
            accounts.push(customer(&world, case).await);
        }
        let first = Month::of(now(&world));
        for month in 0..12 {
            for (seed, account) in (month..).zip(&accounts) {
                use_service(&world, *account, seed).await;
            }
            advance_to_next_month(&world).await;
        }
        let all = invoice_numbers(&world, INVOICE_NUMBERS).await;
        assert_eq!(all.len(), 12 * CASES.len());
        assert_gapless(&all);
        let team = world.minted(values::Role::Support).await;
        for (case, account) in CASES.iter().zip(&accounts) {
            let page = team.get(&format!("/admin/invoices?customer_id={account}")).await.ok();
            let invoices = page["data"].as_array().unwrap();
            let mut month = first;
            let mut reader = db.read().await.unwrap();
            // The newest comes first.
            for invoice in invoices.iter().rev() {
                let sums = ledger::sums(&mut reader, *account, Currency::EUR, month.start(), month.end()).await.unwrap();
                let used = total(&sums, |kind| kind.is_usage() || kind == Kind::Correction).neg().unwrap();
                let [subtotal, vat, sum] = ["subtotal", "vat", "total"].map(|name| exact_amount(&invoice[name]));
                assert_eq!(subtotal, used, "{} of {}", month, case.country);
                let cents = (used.minor() * case.percent * 2 + 100).div_euclid(200);
                assert_eq!(vat, Money::from_minor(cents, Currency::EUR).unwrap(), "{invoice}");
                assert_eq!(sum, subtotal.add(vat).unwrap());
                // VAT is posted in the month after.
                month = month.next();
                let sums = ledger::sums(&mut reader, *account, Currency::EUR, month.start(), month.end()).await.unwrap();
                assert_eq!(total(&sums, |kind| kind == Kind::InvoiceVat), vat.neg().unwrap());
            }
            let sums = ledger::sums(&mut reader, *account, Currency::EUR, first.start(), month.end()).await.unwrap();
            drop(reader);
            let invoiced = invoices.iter().map(|invoice| exact_amount(&invoice["total"])).try_fold(euros(0), Money::add).unwrap();
            let paid_in = total(&sums, |kind| kind == Kind::Topup);
            assert_eq!(balance(&world, *account).await, paid_in.sub(invoiced).unwrap());
        }
        world.end().await;
    }
}
