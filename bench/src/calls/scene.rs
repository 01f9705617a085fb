//! A service with an upstream, its deck, and customers who have trunks and money.

use std::path::Path;
use std::process::{Command, Stdio};

use db::{Conn, Db, DbError, DbOptions, params};
use platform::clock::Clock;
use platform::entropy::Entropy;
use platform::ledger::{self, Book, Entry, Kind, LedgerError};
use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;
use values::{AccountId, Currency, Money, UpstreamId};

use super::store::Store;
use crate::Outcome;
use crate::customers;
use crate::http::{Client, post, send};
use crate::service::{Service, beside_us, bootstrap, configure, sign_in};

const CUSTOMERS: usize = 8;

const UPSTREAM: &str =
    "INSERT INTO upstreams (id, name, status, health, dispatcher_group_id, base_currency, markup, gateways, signaling_ips,
                            created_at, updated_at)
     VALUES ($1, 'Carrier', 'active', 'up', 1, 'EUR', 100000, '[\"sip:gateway.example\"]', '[]', $2, $2)";
const QUOTA: &str =
    "INSERT INTO zone_quotas (account_id, zone, channels, updated_at) VALUES ($1, 'eu-west', 1000000000, 0)";
const DECK: &str = "prefix,destination_name,country,rate_per_minute,billing_increment_seconds,minimum_seconds
31,Netherlands,NL,0.001,1,1
316,Netherlands mobile,NL,0.002,60,60
44,United Kingdom,GB,0.001,1,1
49,Germany,DE,0.001,6,30
";

/// A customer, and where its calls come from.
pub struct Customer {
    pub account: AccountId,
    email: String,
    pub trunk: Uuid,
    pub source: String,
}

pub struct Scene {
    pub store: Store,
    pub service: Service,
    pub customers: Vec<Customer>,
}

impl Scene {
    pub async fn prepare(work: &Path, store: Store) -> Outcome<Scene> {
        let url = &store.url();
        let made = customers::make(url, CUSTOMERS).await?;
        let options: DbOptions = url.parse()?;
        let db = Db::open(&options).await?;
        let now = Clock::system().now();
        let upstream = UpstreamId::new(Entropy.uuid(now));
        db.tx((upstream, now), |conn: &mut Conn, (upstream, now)| {
            Box::pin(async move { conn.exec(UPSTREAM, params![*upstream, *now]).await })
        })
        .await?;
        for customer in &made {
            db.tx(customer.id, |conn, account| Box::pin(provide(conn, *account))).await?;
        }
        drop(db);
        import(work, url, upstream)?;
        let service = Service::start_on(work, url).await?;
        bootstrap(service.public).await?;
        let mut customers = Vec::new();
        for (number, customer) in made.into_iter().enumerate() {
            let token = sign_in(service.public, &customer.email).await?;
            let source = format!("8.8.4.{}", number + 1);
            let trunk = trunk(&service, &token, &source).await?;
            customers.push(Customer { account: customer.id, email: customer.email, trunk, source });
        }
        Ok(Scene { store, service, customers })
    }

    /// The first customer, signed in anew: filling the tables takes longer than a token lives.
    pub async fn reader(&self) -> Outcome<(&Customer, String)> {
        let customer = self.customers.first().ok_or("no customers")?;
        Ok((customer, sign_in(self.service.public, &customer.email).await?))
    }
}

/// Money for long, and room for any number of calls.
async fn provide(conn: &mut Conn, account: AccountId) -> Result<(), LedgerError> {
    let funds = Money::from_minor(100_000_000, Currency::EUR)?;
    let topup = Entry::credit(account, Kind::Topup, account.to_string(), &[(Book::Clearing, funds)])?;
    ledger::credit(conn, Entropy, &topup, Clock::system().now()).await?;
    ledger::set_low_water(conn, account, Currency::EUR, Some(Money::from_minor(2_000, Currency::EUR)?)).await?;
    conn.exec(QUOTA, params![account]).await?;
    Ok::<_, DbError>(()).map_err(LedgerError::from)
}

/// Brings the deck into force.
fn import(work: &Path, url: &str, upstream: UpstreamId) -> Outcome<()> {
    let folder = TempDir::new_in(work)?;
    let deck = folder.path().join("deck.csv");
    std::fs::write(&deck, DECK)?;
    let mut command = Command::new(beside_us("trunkline")?);
    command.args(["rates", "import", "--upstream", &upstream.to_string()]).arg(&deck);
    configure(&mut command, folder.path()).env("TRUNKLINE_DATABASE_URL", url);
    let status = command.stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err("the deck was not imported".into()) }
}

/// A trunk of any number of channels whose calls come from an address, with caps that are never met.
async fn trunk(service: &Service, token: &str, source: &str) -> Outcome<Uuid> {
    let mut client = Client::connect(service.public).await?;
    let body = json!({"name": "Main", "zone": "eu-west", "channel_cap": 1_000_000_000});
    let made = change(&mut client, "POST", "/v1/trunks", token, &body).await?;
    let id: Uuid = made["id"].as_str().ok_or("a trunk without an id")?.parse()?;
    let path = format!("/v1/trunks/{id}/ip-allow-list");
    change(&mut client, "POST", &path, token, &json!({"cidr": source})).await?;
    let euros = |cents: i64| json!({"amount_minor": cents, "currency": "EUR"});
    let caps = json!({"max_spend_per_day": euros(100_000_000), "max_rate_per_minute": euros(100)});
    change(&mut client, "PUT", "/v1/fraud-caps", token, &caps).await?;
    Ok(id)
}

async fn change(client: &mut Client, method: &str, path: &str, token: &str, body: &Value) -> Outcome<Value> {
    let key = Uuid::from_bytes(Entropy.bytes()).as_u128();
    let key = uuid::Builder::from_random_bytes(key.to_be_bytes()).into_uuid();
    let header = format!("Authorization: Bearer {token}\r\nIdempotency-Key: {key}\r\n");
    let request = post(path, &header, body);
    let request = [method.as_bytes(), request.strip_prefix(b"POST").unwrap_or(&request)].concat();
    let answer = client.send(&request).await?;
    if !(200..300).contains(&answer.status) {
        return Err(format!("{path}: {}", String::from_utf8_lossy(&answer.body)).into());
    }
    Ok(serde_json::from_slice(&answer.body)?)
}

/// Lines as a switch sends them.
pub fn lines(authorization: &str, text: &str) -> Vec<u8> {
    send("application/x-ndjson", "/switch/cdrs", authorization, text)
}
