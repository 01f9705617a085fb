//! A stock of a million numbers beside one of a tenth of that: who looks at it or orders from it must not notice.

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
use crate::{Outcome, ROUNDS, customers, stock};

const GROUP: u32 = 1000;
const FEW_GROUPS: u32 = 100;
const MANY_GROUPS: u32 = 1000;
const CLIENTS: usize = 8;
const ROUND: Duration = Duration::from_secs(1);
/// As long as a million numbers may take to arrive.
const ARRIVED_WITHIN_SECONDS: f64 = 60.0;

/// A service with a stock.
struct Shop {
    service: Service,
    team: String,
    customer: String,
    trunk: String,
    groups: Arc<Vec<String>>,
    arrived_after: Duration,
    /// A second: pages of what customers see, pages of what the team sees, orders.
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
        few.forget().await?;
        many.forget().await?;
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
    [seen, kept, ordered, arrived]: &[&'static str; 4],
    urls: Option<[String; 2]>,
) -> Outcome<Vec<Line>> {
    let [few_url, many_url] = urls.map_or([None, None], |urls| urls.map(Some));
    let mut few = Shop::open(work, few_url, FEW_GROUPS).await?;
    let mut many = Shop::open(work, many_url, MANY_GROUPS).await?;
    // The first round of each warms it up and does not count.
    for round in 0..=ROUNDS {
        for shop in [&mut many, &mut few] {
            shop.round(round > 0).await?;
        }
    }
    let limit = Some(Limit::AtLeast(0.7, "×"));
    let seconds = many.arrived_after.as_secs_f64();
    let [many_seen, many_kept, many_ordered] = many.rates;
    let [few_seen, few_kept, few_ordered] = few.rates;
    Ok(vec![
        Line::beside(seen, many_seen, few_seen, limit),
        Line::beside(kept, many_kept, few_kept, limit),
        Line::beside(ordered, many_ordered, few_ordered, limit),
        Line::alone(
            arrived,
            Spread::of(vec![seconds]).text(1, " s"),
            String::new(),
            seconds,
            Limit::AtMost(ARRIVED_WITHIN_SECONDS, " s"),
        ),
    ])
}

impl Shop {
    async fn open(work: &Path, url: Option<String>, groups: u32) -> Outcome<Shop> {
        let folder = TempDir::new_in(work)?;
        let url = url.unwrap_or_else(|| format!("sqlite://{}", folder.path().join("numbers.db").display()));
        let customer = customers::make(&url, 1).await?.pop().ok_or("no customer")?;
        let service = Service::start_on(work, &url).await?;
        bootstrap(service.public).await?;
        let mut client = Client::connect(service.public).await?;
        let (team, token) = (sign_in(service.public, ADMIN).await?, sign_in(service.public, &customer.email).await?);
        let gift = json!({
            "customer_id": customer.id.to_string(), "reason": "to order with",
            "amount": {"amount_minor": 100_000_000, "currency": "EUR"},
        });
        stock::expect(client.send(&post("/v1/admin/credits", &stock::with_key(&team), &gift)).await?, 201)?;
        let sheet = stock::sheet(groups, GROUP)?;
        let begun = Instant::now();
        stock::bring_in(&mut client, &team, &sheet).await?;
        let arrived_after = begun.elapsed();
        let trunk = stock::trunk(&mut client, &token).await?;
        let groups = Arc::new(stock::groups(&mut client, &token).await?);
        let rates = Default::default();
        Ok(Shop { service, team, customer: token, trunk, groups, arrived_after, rates, _folder: folder })
    }

    async fn round(&mut self, counts: bool) -> Outcome<()> {
        let public = self.service.public;
        let page = |path: &str, token: &str| {
            let request = get(path, Some(token));
            move || request.clone()
        };
        let seen = rate(public, 200, page("/v1/numbers/inventory?country=NL&limit=50", &self.customer)).await?;
        let kept = rate(public, 200, page("/v1/admin/did-inventory?country=NL&limit=50", &self.team)).await?;
        let (groups, next) = (self.groups.clone(), Arc::new(AtomicUsize::new(0)));
        let (token, trunk) = (self.customer.clone(), self.trunk.clone());
        let ordered = rate(public, 201, move || {
            let group = &groups[next.fetch_add(1, Ordering::Relaxed) % groups.len()];
            let order = json!({"inventory_id": group, "trunk_id": trunk});
            post("/v1/numbers/orders", &stock::with_key(&token), &order)
        })
        .await?;
        if counts {
            for (rates, rate) in self.rates.iter_mut().zip([seen, kept, ordered]) {
                rates.push(rate);
            }
        }
        Ok(())
    }
}

/// Requests answered a second.
async fn rate(public: SocketAddr, status: u16, request: impl Fn() -> Vec<u8> + Clone + Send + 'static) -> Outcome<f64> {
    let begun = Instant::now();
    let mut asking = JoinSet::new();
    for _ in 0..CLIENTS {
        let request = request.clone();
        asking.spawn(async move {
            let mut client = Client::connect(public).await?;
            let mut answered = 0_u32;
            while begun.elapsed() < ROUND {
                stock::expect(client.send(&request()).await?, status)?;
                answered += 1;
            }
            Ok(answered)
        });
    }
    let total = asking.join_all().await.into_iter().sum::<Outcome<u32>>()?;
    Ok(f64::from(total) / begun.elapsed().as_secs_f64())
}
