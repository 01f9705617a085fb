//! A service with an upstream, its rate deck, and customers with trunks and balances.

use std::path::Path;
use std::process::{Command, Stdio};

use db::{Clock, Conn, Db, DbError, DbOptions, Entropy, params};
use platform::ledger::{self, Book, Entry, Kind, LedgerError};
use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;
use values::{AccountId, Currency, Money, UpstreamId};

use super::fill::Period;
use super::store::Store;
use crate::Outcome;
use crate::customers;
use crate::http::{Client, post, post_body};
use crate::service::{Service, bootstrap, configure, sibling_binary, sign_in};

const CUSTOMERS: usize = 8;

const UPSTREAM: &str =
    "INSERT INTO upstreams (id, name, status, health, dispatcher_group_id, base_currency, markup, gateways, signaling_ips,
                            created_at, updated_at)
     VALUES ($1, 'Upstream', 'active', 'up', 1, 'EUR', 100000, '[\"sip:gateway.example\"]', '[]', $2, $2)";
const QUOTA: &str =
    "INSERT INTO zone_quotas (account_id, zone, channels, updated_at) VALUES ($1, 'eu-west', 1000000000, 0)";
const DECK: &str = "prefix,destination_name,country,rate_per_minute,billing_increment_seconds,minimum_seconds
31,Netherlands,NL,0.001,1,1
316,Netherlands mobile,NL,0.002,60,60
44,United Kingdom,GB,0.001,1,1
49,Germany,DE,0.001,6,30
";

/// A customer, and the source address of its calls.
pub struct Customer {
    pub account: AccountId,
    email: String,
    pub trunk: Uuid,
    pub source: String,
}

pub struct Fixture {
    pub store: Store,
    pub service: Service,
    pub customers: Vec<Customer>,
}

impl Fixture {
    pub async fn prepare(work: &Path, store: Store) -> Outcome<Fixture> {
        let url = &store.url();
        let accounts = customers::create(url, CUSTOMERS).await?;
        let options: DbOptions = url.parse()?;
        let db = Db::open(&options).await?;
        let now = Clock::system().now();
        let upstream = UpstreamId::new(Entropy.uuid(now));
        db.tx((upstream, now), |conn: &mut Conn, (upstream, now)| {
            Box::pin(async move { conn.exec(UPSTREAM, params![*upstream, *now]).await })
        })
        .await?;
        for customer in &accounts {
            db.tx(customer.id, |conn, account| Box::pin(fund_account(conn, *account))).await?;
        }
        drop(db);
        import_deck(work, url, upstream)?;
        let service = Service::start_on(work, url).await?;
        bootstrap(service.public).await?;
        let mut customers = Vec::new();
        for (number, customer) in accounts.into_iter().enumerate() {
            let token = sign_in(service.public, &customer.email).await?;
            let source = format!("8.8.4.{}", number + 1);
            let trunk = create_trunk(&service, &token, &source).await?;
            customers.push(Customer { account: customer.id, email: customer.email, trunk, source });
        }
        Ok(Fixture { store, service, customers })
    }

    /// The first customer and a new access token: filling the tables takes longer than a token is valid.
    pub async fn first_customer(&self) -> Outcome<(&Customer, String)> {
        Ok((self.customer(0), self.sign_in(0).await?))
    }

    /// One of the customers for every number.
    pub fn customer(&self, number: usize) -> &Customer {
        &self.customers[number % self.customers.len()]
    }

    pub fn trunks(&self) -> Vec<Uuid> {
        self.customers.iter().map(|customer| customer.trunk).collect()
    }

    /// With this many generated CDRs of the first customer, of the second and so on.
    pub async fn prepare_filled(
        work: &Path,
        store: Store,
        settings: &[(&'static str, &str)],
        period: Period,
        calls: &[i64],
    ) -> Outcome<Fixture> {
        let Fixture { store, service, customers } = Fixture::prepare(work, store).await?;
        service.terminate().await?;
        store.fill(&customers, period, calls).await?;
        let service = Service::start_with(work, &store.url(), settings).await?;
        Ok(Fixture { store, service, customers })
    }

    /// A new access token of a customer.
    pub async fn sign_in(&self, number: usize) -> Outcome<String> {
        sign_in(self.service.public, &self.customer(number).email).await
    }
}

/// Credits enough for the whole run and sets a zone quota that is never reached.
async fn fund_account(conn: &mut Conn, account: AccountId) -> Result<(), LedgerError> {
    let funds = Money::from_minor(100_000_000, Currency::EUR)?;
    let topup = Entry::credit(account, Kind::Topup, account.to_string(), &[(Book::Clearing, funds)])?;
    ledger::credit(conn, &topup).await?;
    ledger::set_low_water(conn, account, Currency::EUR, Some(Money::from_minor(2_000, Currency::EUR)?)).await?;
    conn.exec(QUOTA, params![account]).await?;
    Ok::<_, DbError>(()).map_err(LedgerError::from)
}

/// Imports the rate deck.
fn import_deck(work: &Path, url: &str, upstream: UpstreamId) -> Outcome<()> {
    let folder = TempDir::new_in(work)?;
    let deck = folder.path().join("deck.csv");
    std::fs::write(&deck, DECK)?;
    let mut command = Command::new(sibling_binary("trunkline")?);
    command.args(["rates", "import", "--upstream", &upstream.to_string()]).arg(&deck);
    configure(&mut command, folder.path()).env("TRUNKLINE_DATABASE_URL", url);
    let status = command.stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err("the deck was not imported".into()) }
}

/// Creates a trunk for a source address, with a channel cap and fraud caps that are never reached.
async fn create_trunk(service: &Service, token: &str, source: &str) -> Outcome<Uuid> {
    let mut client = Client::connect(service.public).await?;
    let body = json!({"name": "Main", "zone": "eu-west", "channel_cap": 1_000_000_000});
    let trunk = send_json(&mut client, "POST", "/v1/trunks", token, &body).await?;
    let id: Uuid = trunk["id"].as_str().ok_or("the trunk has no id")?.parse()?;
    let path = format!("/v1/trunks/{id}/ip-allow-list");
    send_json(&mut client, "POST", &path, token, &json!({"cidr": source})).await?;
    let euros = |cents: i64| json!({"amount_minor": cents, "currency": "EUR"});
    let caps = json!({"max_spend_per_day": euros(100_000_000), "max_rate_per_minute": euros(100)});
    send_json(&mut client, "PUT", "/v1/fraud-caps", token, &caps).await?;
    Ok(id)
}

/// A write with a new idempotency key.
pub fn request(method: &str, path: &str, token: &str, body: &Value) -> Vec<u8> {
    let key = uuid::Builder::from_random_bytes(Entropy.bytes()).into_uuid();
    let header = format!("Authorization: Bearer {token}\r\nIdempotency-Key: {key}\r\n");
    let request = post(path, &header, body);
    [method.as_bytes(), request.strip_prefix(b"POST").unwrap_or(&request)].concat()
}

pub async fn send_json(client: &mut Client, method: &str, path: &str, token: &str, body: &Value) -> Outcome<Value> {
    let response = client.send(&request(method, path, token, body)).await?;
    if !(200..300).contains(&response.status) {
        return Err(format!("{path}: {}", String::from_utf8_lossy(&response.body)).into());
    }
    Ok(serde_json::from_slice(&response.body)?)
}

/// A CDR import request, as a switch sends it.
pub fn post_cdrs(authorization: &str, text: &str) -> Vec<u8> {
    post_body("application/x-ndjson", "/switch/cdrs", authorization, text)
}
