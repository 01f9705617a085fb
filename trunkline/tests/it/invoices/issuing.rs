//! Issuing invoices for a month, once each.

use billing::invoices::{self, IssueRequest, Month};
use db::params;
use platform::jobs;
use platform::ledger::{Book, Entry, Kind};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use values::{AccountId, Currency, Role, Time};

use crate::world::World;
use crate::world::engines::both;
use crate::world::fixtures::invoices::{
    HOUR, INVOICE_NUMBERS, account_id, advance_to_next_month, assert_gapless, balance, call_charge, create_account,
    customer_with_invoice, dunning_reasons, eur, euros, exact_amount, invoice_numbers, invoice_owner, issue_invoice,
    last_month, now, post_entry, topup_entry,
};
use crate::world::fixtures::key;

/// Runs the job that closes months, as its schedule would.
async fn close_months(world: &World) {
    let db = &world.node.app.db;
    db.tx((), |conn, ()| Box::pin(jobs::enqueue(conn, invoices::CLOSE_MONTHS, json!({})))).await.unwrap();
    world.settle().await;
}

both! {
    async fn a_past_month_is_invoiced_with_vat_and_paid_from_the_balance(db) {
        let world = World::start(db).await;
        let email = "cora@customer.example";
        let account = account_id(&world.customer(email).await);
        post_entry(&world, topup_entry(account, euros(1000)), now(&world)).await;
        post_entry(&world, call_charge(account, eur(100_123_456_789)), now(&world)).await;
        let month = Month::of(now(&world));
        assert_eq!(world.sign_in(email).await.get("/invoices").await.ok()["data"], json!([]));
        advance_to_next_month(&world).await;
        let customer = world.sign_in(email).await;
        let listed = customer.get("/invoices").await.ok();
        let [invoice] = listed["data"].as_array().unwrap().as_slice() else { panic!("{listed}") };
        assert_eq!(invoice["status"], "paid");
        assert_eq!(invoice["subtotal"], json!({"amount_minor": 10012, "amount": "100.123456789", "currency": "EUR"}));
        assert_eq!(invoice["vat"], json!({"amount_minor": 2103, "amount": "21.03", "currency": "EUR"}));
        assert_eq!(invoice["total"], json!({"amount_minor": 12115, "amount": "121.153456789", "currency": "EUR"}));
        assert_eq!(invoice["supply_date"], month.last_day().to_string());
        let issued = invoice["issue_date"].as_str().unwrap();
        assert_eq!(issued, format!("{}-01", month.next()));
        assert_eq!(invoice["due_date"], format!("{}-15", month.next()));
        assert_eq!(invoice["number"], format!("{}-000001", &issued[..4]));
        assert!(invoice["paid_at"].is_string() && invoice["credit_note"].is_null());
        assert_eq!(balance(&world, account).await, eur(878_846_543_211));
        let one = customer.get(&format!("/invoices/{}", invoice["id"].as_str().unwrap())).await.ok();
        assert_eq!(&one, invoice);
        world.end().await;
    }

    async fn an_uncovered_invoice_is_paid_by_the_next_sufficient_credit(db) {
        let world = World::start(db).await;
        let account = create_account(&world).await;
        // This morning's payment is in the balance already and must not count again.
        post_entry(&world, topup_entry(account, euros(50)), now(&world)).await;
        post_entry(&world, call_charge(account, euros(100)), last_month(&world)).await;
        let invoice = issue_invoice(&world, account).await.unwrap();
        let status = async || {
            let sql = "SELECT status, paid_at FROM invoices WHERE id = $1";
            let row: (String, Option<Time>) = db.read().await.unwrap().one(sql, params![invoice]).await.unwrap();
            (row.0, row.1.is_some())
        };
        world.advance(HOUR).await;
        assert_eq!(status().await, ("issued".to_owned(), false));
        assert!(dunning_reasons(&world, account).await.contains(&"unpaid_invoice".to_owned()));
        // 71 is lacking. What is used meanwhile belongs to the next invoice.
        post_entry(&world, topup_entry(account, euros(70)), now(&world)).await;
        post_entry(&world, call_charge(account, euros(5)), now(&world)).await;
        world.advance(HOUR).await;
        assert_eq!(status().await, ("issued".to_owned(), false));
        post_entry(&world, topup_entry(account, euros(1)), now(&world)).await;
        world.advance(HOUR).await;
        assert_eq!(status().await, ("paid".to_owned(), true));
        assert!(!dunning_reasons(&world, account).await.contains(&"unpaid_invoice".to_owned()));
        assert_eq!(balance(&world, account).await, euros(-5));
        world.end().await;
    }

    async fn an_invoice_is_paid_once_the_balance_is_not_negative_whatever_raised_it(db) {
        let world = World::start(db).await;
        let account = create_account(&world).await;
        post_entry(&world, call_charge(account, euros(100)), last_month(&world)).await;
        issue_invoice(&world, account).await.unwrap();
        assert_eq!(balance(&world, account).await, euros(-121));
        // A later invoice with more refunds than usage returns VAT.
        post_entry(&world, topup_entry(account, euros(100)), now(&world)).await;
        let returned = Entry::credit(account, Kind::InvoiceVat, "returned".to_owned(), &[(Book::Vat, euros(21))]).unwrap();
        post_entry(&world, returned, now(&world)).await;
        world.advance(HOUR).await;
        assert!(!dunning_reasons(&world, account).await.contains(&"unpaid_invoice".to_owned()));
        world.end().await;
    }

    async fn a_payment_that_arrives_while_an_invoice_without_vat_is_issued_pays_it(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        for _ in 0..10 {
            let account = create_account(&world).await;
            let path = format!("/admin/customers/{}", account.uuid());
            admin.patch(&path, json!({"vat_treatment": "outside_scope"})).await.ok();
            post_entry(&world, call_charge(account, euros(100)), last_month(&world)).await;
            let paid = post_entry(&world, topup_entry(account, euros(100)), now(&world));
            let (invoice, _) = futures_util::future::join(issue_invoice(&world, account), paid).await;
            assert!(invoice.is_some());
        }
        world.advance(HOUR).await;
        let (unpaid,): (i64,) =
            db.read().await.unwrap().one("SELECT COUNT(*) FROM invoices WHERE status <> 'paid'", &[]).await.unwrap();
        assert_eq!(unpaid, 0);
        world.end().await;
    }

    async fn missed_months_are_caught_up_with_one_invoice_each(db) {
        let world = World::start(db).await;
        let account = create_account(&world).await;
        let first = Month::of(now(&world));
        let months = [first, first.next(), first.next().next()];
        for (units, month) in (1..).zip(months) {
            post_entry(&world, call_charge(account, euros(units)), month.start()).await;
        }
        let ahead = months[2].end().seconds() + 3 * 3600 - world.seconds();
        world.advance(ahead.unsigned_abs()).await;
        let rows: Vec<(String, i64)> =
            db.read().await.unwrap().all("SELECT month, subtotal FROM invoices ORDER BY month", &[]).await.unwrap();
        let expected: Vec<_> = (1..).zip(months).map(|(units, month)| (month.to_string(), euros(units).nanos())).collect();
        assert_eq!(rows, expected);
        assert_gapless(&invoice_numbers(&world, INVOICE_NUMBERS).await);
        world.end().await;
    }

    async fn a_month_without_usage_has_no_invoice(db) {
        let world = World::start(db).await;
        let account = create_account(&world).await;
        post_entry(&world, topup_entry(account, euros(10)), last_month(&world)).await;
        assert_eq!(issue_invoice(&world, account).await, None);
        advance_to_next_month(&world).await;
        assert!(invoice_numbers(&world, INVOICE_NUMBERS).await.is_empty());
        world.end().await;
    }

    async fn closing_a_month_again_issues_no_second_invoice(db) {
        let world = World::start(db).await;
        for units in 1..=3 {
            let account = create_account(&world).await;
            post_entry(&world, call_charge(account, euros(units)), last_month(&world)).await;
        }
        close_months(&world).await;
        let first = invoice_numbers(&world, INVOICE_NUMBERS).await;
        assert_eq!(first.len(), 3);
        close_months(&world).await;
        // As if the node had died after ordering the invoices and before closing the month.
        let forget = db.tx((), |conn, ()| Box::pin(conn.exec("DELETE FROM invoice_months", &[])));
        assert_eq!(forget.await.unwrap(), 1);
        close_months(&world).await;
        assert_eq!(invoice_numbers(&world, INVOICE_NUMBERS).await, first);
        world.end().await;
    }

    async fn twenty_customers_invoiced_concurrently_have_gapless_numbers(db) {
        let world = World::start(db).await;
        let mut accounts = Vec::new();
        for units in 1..=20 {
            let account = create_account(&world).await;
            post_entry(&world, call_charge(account, euros(units)), last_month(&world)).await;
            accounts.push(account);
        }
        let month = Month::of(last_month(&world));
        let mut tasks = JoinSet::new();
        for account in accounts.iter().chain(&accounts) {
            let (app, moment) = (world.node.app.clone(), now(&world));
            let order = IssueRequest { app, account: *account, currency: Currency::EUR, month, now: moment };
            tasks.spawn(async move { invoices::issue(order).await.unwrap().unwrap() });
        }
        let mut issued = tasks.join_all().await;
        issued.sort_unstable();
        issued.dedup();
        assert_eq!(issued.len(), 20);
        let numbers = invoice_numbers(&world, INVOICE_NUMBERS).await;
        assert_eq!(numbers.len(), 20);
        assert_gapless(&numbers);
        for (units, account) in (1..).zip(&accounts) {
            assert_eq!(balance(&world, *account).await, eur(units * -1_210_000_000), "VAT was posted once");
        }
        world.end().await;
    }

    async fn an_invoice_whose_job_was_interrupted_is_issued_once(db) {
        let world = World::start(db).await;
        let account = create_account(&world).await;
        post_entry(&world, call_charge(account, euros(10)), last_month(&world)).await;
        let month = Month::of(last_month(&world));
        for _ in 0..5 {
            let (app, now) = (world.node.app.clone(), now(&world));
            let order = IssueRequest { app, account, currency: Currency::EUR, month, now };
            let cut_off = tokio::spawn(invoices::issue(order));
            tokio::task::yield_now().await;
            cut_off.abort();
            let _ = cut_off.await;
        }
        issue_invoice(&world, account).await.unwrap();
        let numbers = invoice_numbers(&world, INVOICE_NUMBERS).await;
        assert_eq!(numbers.len(), 1);
        assert_gapless(&numbers);
        assert_eq!(balance(&world, account).await, eur(-12_100_000_000));
        world.end().await;
    }

    async fn a_month_with_more_refunds_than_usage_gives_vat_back(db) {
        let world = World::start(db).await;
        let (customer, first) = customer_with_invoice(&world, true).await;
        let account: AccountId = invoice_owner(&world, first).await;
        let refund = platform::ledger::Entry::credit(
            account, platform::ledger::Kind::NumberRefund, "order", &[(platform::ledger::Book::Refunds, euros(10))],
        ).unwrap();
        let before = balance(&world, account).await;
        post_entry(&world, refund, now(&world)).await;
        let month = Month::of(now(&world));
        let app = world.node.app.clone();
        let order = IssueRequest { app, account, currency: Currency::EUR, month, now: now(&world) };
        let invoice = invoices::issue(order).await.unwrap().unwrap();
        let shown = customer.get(&format!("/invoices/{invoice}")).await.ok();
        assert_eq!((exact_amount(&shown["total"]), &shown["status"]), (eur(-12_100_000_000), &json!("paid")));
        assert_eq!(balance(&world, account).await, before.add(eur(12_100_000_000)).unwrap());
        let admin = world.minted(Role::Admin).await.with_key(key());
        let path = format!("/admin/invoices/{invoice}/credit");
        admin.post(&path, json!({"reason": "a mistake"})).await.problem(409, "state.conflict");
        world.end().await;
    }

    async fn lists_are_paged_and_the_teams_are_filtered(db) {
        let world = World::unlimited(db).await;
        let (customer, paid) = customer_with_invoice(&world, true).await;
        let (_, open) = customer_with_invoice(&world, false).await;
        let team = world.minted(Role::Support).await;
        let ids = |page: &Value| -> Vec<String> {
            page["data"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
        };
        let all = team.get("/admin/invoices?limit=1").await.ok();
        assert_eq!(ids(&all), [open.to_string()]);
        let next = all["meta"]["next_cursor"].as_str().unwrap();
        let rest = team.get(&format!("/admin/invoices?limit=1&cursor={next}")).await.ok();
        assert_eq!((ids(&rest), &rest["meta"]["next_cursor"]), (vec![paid.to_string()], &Value::Null));
        assert_eq!(ids(&team.get("/admin/invoices?status=issued").await.ok()), [open.to_string()]);
        let account = invoice_owner(&world, paid).await.uuid();
        let his = team.get(&format!("/admin/invoices?customer_id={account}")).await.ok();
        assert_eq!(ids(&his), [paid.to_string()]);
        assert_eq!(his["data"][0]["customer_id"], account.to_string());
        assert_eq!(ids(&customer.get("/invoices").await.ok()), [paid.to_string()]);
        customer.get(&format!("/invoices/{open}")).await.problem(404, "not_found");
        world.end().await;
    }
}
