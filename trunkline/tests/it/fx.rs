//! Exchange rates: set by the team, imported and fetched.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read, Write};
use std::net::TcpListener;

use platform::outside;
use reqwest::Method;
use serde_json::{Value, json};
use values::{Currency, Money};
use voice::fx;

use crate::world::World;
use crate::world::client::{Answer, Client};
use crate::world::engines::both;
use crate::world::fixtures::key;

const FILE: &str = "<gesmes:Envelope><Cube>
    <Cube time='2026-11-13'><Cube currency='USD' rate='1.0832'/><Cube currency='JPY' rate='163.5'/></Cube>
    <Cube time='2026-11-12'><Cube currency='USD' rate='1.08'/></Cube></Cube></gesmes:Envelope>";

async fn put(admin: &Client, body: Value) -> Answer {
    admin.with_key(key()).call(Method::PUT, "/admin/fx-rates", Some(body)).await
}

both! {
    async fn the_newest_exchange_rates_are_shown_and_older_ones_by_date(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        assert_eq!(admin.get("/admin/fx-rates").await.ok(), json!({"base": "EUR", "date": null, "rates": {}}));
        let old = json!({"base": "EUR", "date": "2024-01-02", "rates": {"USD": "1.0956", "JPY": "155.68"}});
        let new = json!({"base": "EUR", "date": "2024-01-04", "rates": {"USD": "1.095300000"}});
        assert_eq!(put(&admin, old.clone()).await.ok(), old);
        let new_shown = json!({"base": "EUR", "date": "2024-01-04", "rates": {"USD": "1.0953"}});
        assert_eq!(put(&admin, new).await.ok(), new_shown);
        assert_eq!(admin.get("/admin/fx-rates").await.ok(), new_shown);
        assert_eq!(admin.get("/admin/fx-rates?date=2024-01-03").await.ok(), old);
        assert_eq!(admin.get("/admin/fx-rates?date=2024-01-01").await.ok()["date"], Value::Null);
        // A day that is set again has what it was set to last.
        let again = json!({"base": "EUR", "date": "2024-01-04", "rates": {"GBP": "0.86"}});
        assert_eq!(put(&admin, again.clone()).await.ok(), again);
        assert_eq!(admin.get("/admin/fx-rates").await.ok(), again);
        world.end().await;
    }

    async fn invalid_exchange_rates_are_refused(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let refused = put(&admin, json!({"base": "USD", "date": "2999-01-01", "rates": {"EUR": "1", "ABC": "1"}})).await;
        assert_eq!(refused.invalid(), ["base", "date", "rates.ABC", "rates.EUR"]);
        let rates = json!({"EUR": "1", "ABC": "1", "usd": "1", "GBP": "0", "JPY": "0.0", "CHF": 1});
        let refused = put(&admin, json!({"base": "USD", "date": "2999-01-01", "rates": rates, "note": ""})).await;
        let every_fault =
            ["base", "date", "note", "rates.ABC", "rates.CHF", "rates.EUR", "rates.GBP", "rates.JPY", "rates.usd"];
        assert_eq!(refused.invalid(), every_fault);
        for rate in [json!("0"), json!("-1"), json!("1e3"), json!("1.0000000001"), json!(1.5)] {
            let refused = put(&admin, json!({"base": "EUR", "date": "2024-01-04", "rates": {"USD": rate}})).await;
            assert_eq!(refused.invalid(), ["rates.USD"], "{rate}");
        }
        let refused = put(&admin, json!({"base": "EUR", "date": "2024-01-04", "rates": {}})).await;
        assert_eq!(refused.invalid(), ["rates"]);
        world.end().await;
    }

    async fn an_amount_is_converted_at_the_rates_of_its_day(db) {
        let world = World::start(db).await;
        let app = &world.node.app;
        let sheets = outside::fx::read(FILE).unwrap();
        assert_eq!(app.db.tx(sheets, |conn, sheets| Box::pin(fx::import(conn, sheets))).await.unwrap(), 2);
        let usd: Currency = "USD".parse().unwrap();
        let convert = async |day: &str| {
            let mut reader = app.db.read().await.unwrap();
            let rates = fx::rates_on(&mut reader, day.parse().unwrap()).await.unwrap().unwrap();
            rates.convert(Money::from_minor(10_000, usd).unwrap(), Currency::EUR).unwrap()
        };
        // Nothing is published on a Saturday: Friday's count.
        let saturday = convert("2026-11-14").await;
        assert_eq!((saturday.money.amount().as_str(), saturday.date.to_string().as_str()), ("92.319054653", "2026-11-13"));
        assert_eq!(convert("2026-11-12").await.money.amount(), "92.592592593");
        world.end().await;
    }

    async fn exchange_rates_are_fetched_daily_from_the_configured_url(db) {
        let (url, published) = publisher();
        let world = World::with(db, &[("TRUNKLINE_FX_URL", &url)]).await;
        world.advance(24 * 3600).await;
        published.join().unwrap();
        let shown = world.admin().await.get("/admin/fx-rates?date=2026-11-13").await.ok();
        assert_eq!((&shown["date"], &shown["rates"]["USD"]), (&json!("2026-11-13"), &json!("1.0832")));
        world.end().await;
    }
}

/// A server that publishes the file once.
fn publisher() -> (String, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/eurofxref-daily.xml", listener.local_addr().unwrap());
    let published = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]).unwrap();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", FILE.len());
        stream.write_all(format!("{head}{FILE}").as_bytes()).unwrap();
    });
    (url, published)
}
