//! An inventory of a million numbers compared with one of 100,000: listing and ordering must cost the same.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::http::{Client, get, post};
use crate::postgres::Database;
use crate::report::{Limit, Line, Spread};
use crate::service::{ADMIN, Service, bootstrap, sign_in};
use crate::{Outcome, ROUNDS, customers, inventory};

const GROUP_SIZE: u32 = 1000;
const FEW_GROUPS: u32 = 100;
const MANY_GROUPS: u32 = 1000;
const CLIENTS: usize = 8;
const ROUND: Duration = Duration::from_secs(1);
/// Limit for the import of a million numbers.
const IMPORT_SECONDS: f64 = 60.0;

/// A service with an inventory.
struct Fixture {
    service: Service,
    team: String,
    customer: String,
    trunk: String,
    groups: Arc<Vec<String>>,
    imported_in: Duration,
    /// Per second: inventory pages of customers, inventory pages of the team, orders.
    rates: [Vec<f64>; 3],
    _folder: TempDir,
}

pub fn measure(work: &Path) -> Outcome<Vec<Line>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut lines = compare(work, &SQLITE, None).await?;
        let (few, many) = (Database::create_named("few").await?, Database::create_named("many").await?);
        let urls = [few.url.clone(), many.url.clone()];
        lines.extend(compare(work, &POSTGRES, Some(urls)).await?);
        few.delete().await?;
        many.delete().await?;
        Ok(lines)
    })
}

const SQLITE: [&str; 4] = [
    "`GET /v1/numbers/inventory`, 1,000,000 numbers, SQLite; baseline: 100,000 numbers",
    "`GET /v1/admin/did-inventory`, 1,000,000 numbers, SQLite; baseline: 100,000 numbers",
    "`POST /v1/numbers/orders`, 8 clients, 1,000,000 numbers, SQLite; baseline: 100,000 numbers",
    "Inventory import, 1,000,000 numbers, SQLite",
];
const POSTGRES: [&str; 4] = [
    "`GET /v1/numbers/inventory`, 1,000,000 numbers, PostgreSQL; baseline: 100,000 numbers",
    "`GET /v1/admin/did-inventory`, 1,000,000 numbers, PostgreSQL; baseline: 100,000 numbers",
    "`POST /v1/numbers/orders`, 8 clients, 1,000,000 numbers, PostgreSQL; baseline: 100,000 numbers",
    "Inventory import, 1,000,000 numbers, PostgreSQL",
];

async fn compare(
    work: &Path,
    [customer_pages, team_pages, orders, import]: &[&'static str; 4],
    urls: Option<[String; 2]>,
) -> Outcome<Vec<Line>> {
    let engine = if urls.is_some() { "postgres" } else { "sqlite" };
    let [few_url, many_url] = urls.map_or([None, None], |urls| urls.map(Some));
    let mut few = Fixture::start(work, few_url, FEW_GROUPS).await?;
    let mut many = Fixture::start(work, many_url, MANY_GROUPS).await?;
    // The first round of each is a warm-up and is discarded.
    for round in 0..=ROUNDS {
        for fixture in [&mut many, &mut few] {
            fixture.round(round > 0).await?;
        }
    }
    let limit = Some(Limit::AtLeast(0.7, "×"));
    let seconds = many.imported_in.as_secs_f64();
    let [many_customer_pages, many_team_pages, many_orders] = many.rates;
    let [few_customer_pages, few_team_pages, few_orders] = few.rates;
    Ok(vec![
        Line::beside(*customer_pages, many_customer_pages, few_customer_pages, limit).id(format!("pages-{engine}")),
        Line::beside(*team_pages, many_team_pages, few_team_pages, limit).id(format!("team-pages-{engine}")),
        Line::beside(*orders, many_orders, few_orders, limit).id(format!("orders-{engine}")),
        Line::alone(
            *import,
            Spread::of(vec![seconds]).text(1, " s"),
            String::new(),
            seconds,
            Limit::AtMost(IMPORT_SECONDS, " s"),
        )
        .id(format!("import-{engine}")),
    ])
}

impl Fixture {
    async fn start(work: &Path, url: Option<String>, groups: u32) -> Outcome<Fixture> {
        let folder = TempDir::new_in(work)?;
        let url = url.unwrap_or_else(|| format!("sqlite://{}", folder.path().join("numbers.db").display()));
        let customer = customers::create(&url, 1).await?.pop().ok_or("no customer")?;
        let service = Service::start_with(work, &url, &[("TRUNKLINE_CREDIT_APPROVAL_EUR", "1000000")]).await?;
        bootstrap(service.public).await?;
        let mut client = Client::connect(service.public).await?;
        let (team, token) = (sign_in(service.public, ADMIN).await?, sign_in(service.public, &customer.email).await?);
        let credit = json!({
            "customer_id": customer.id.to_string(), "reason": "Benchmark",
            "amount": {"amount_minor": 100_000_000, "currency": "EUR"},
        });
        inventory::expect_status(
            client.send(&post("/v1/admin/credits", &inventory::auth_headers(&team), &credit)).await?,
            201,
        )?;
        let csv = inventory::csv(groups, GROUP_SIZE)?;
        let started = Instant::now();
        inventory::import(&mut client, &team, &csv).await?;
        let imported_in = started.elapsed();
        let trunk = inventory::create_trunk(&mut client, &token).await?;
        let groups = Arc::new(inventory::list_groups(&mut client, &token).await?);
        let rates = Default::default();
        Ok(Fixture { service, team, customer: token, trunk, groups, imported_in, rates, _folder: folder })
    }

    async fn round(&mut self, counts: bool) -> Outcome<()> {
        let public = self.service.public;
        let get_page = |path: &str, token: &str| {
            let request = get(path, Some(token));
            move || request.clone()
        };
        let customer_pages =
            rate(public, 200, get_page("/v1/numbers/inventory?country=NL&limit=50", &self.customer)).await?;
        let team_pages = rate(public, 200, get_page("/v1/admin/did-inventory?country=NL&limit=50", &self.team)).await?;
        let (groups, next) = (self.groups.clone(), Arc::new(AtomicUsize::new(0)));
        let (token, trunk) = (self.customer.clone(), self.trunk.clone());
        let orders = rate(public, 201, move || {
            let group = &groups[next.fetch_add(1, Ordering::Relaxed) % groups.len()];
            let order = json!({"inventory_id": group, "trunk_id": trunk});
            post("/v1/numbers/orders", &inventory::auth_headers(&token), &order)
        })
        .await?;
        if counts {
            for (rates, rate) in self.rates.iter_mut().zip([customer_pages, team_pages, orders]) {
                rates.push(rate);
            }
        }
        Ok(())
    }
}

/// Responses per second.
async fn rate(public: SocketAddr, status: u16, request: impl Fn() -> Vec<u8> + Clone + Send + 'static) -> Outcome<f64> {
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..CLIENTS {
        let request = request.clone();
        tasks.spawn(async move {
            let mut client = Client::connect(public).await?;
            let mut responses = 0_u32;
            while started.elapsed() < ROUND {
                inventory::expect_status(client.send(&request()).await?, status)?;
                responses += 1;
            }
            Ok(responses)
        });
    }
    let total = tasks.join_all().await.into_iter().sum::<Outcome<u32>>()?;
    Ok(f64::from(total) / started.elapsed().as_secs_f64())
}
