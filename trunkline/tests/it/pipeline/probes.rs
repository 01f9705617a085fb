//! Test endpoints over tables that only tests have.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::LazyLock;

use api::answer::{Created, Json};
use api::auth::Who;
use api::context::{Committed, ReadCtx, RequestCtx};
use api::endpoint::{Endpoint, Tag, get, post};
use api::input::{Body, Path, Query};
use api::page::{Listing, Page};
use api::problem::{Code, Problem};
use db::Conn;
use db::params;
use platform::limits::Limit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, Semaphore};
use values::{Role, Text};

use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::TestDb;

pub const TABLES: &str = "
    CREATE TABLE probe_marks (id BIGINT NOT NULL, text TEXT NOT NULL);
    CREATE TABLE probe_items (id BIGINT PRIMARY KEY NOT NULL, colour TEXT NOT NULL);";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    text: Text<1, 200>,
    #[serde(default)]
    count: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
pub struct Marked {
    text: String,
    count: i64,
    /// The number of marks at that time, which distinguishes one execution from another.
    total: i64,
}

async fn leave_mark(conn: &mut Conn, text: &str) -> Result<i64, Problem> {
    conn.exec("INSERT INTO probe_marks (id, text) VALUES (1, $1)", params![text]).await?;
    let (total,): (i64,) = conn.one("SELECT CAST(count(*) AS BIGINT) FROM probe_marks", params![]).await?;
    Ok(total)
}

async fn mark(ctx: RequestCtx, Body(request): Body<Mark>) -> Result<Committed<Created<Marked>>, Problem> {
    ctx.commit(request, |tx, request| {
        Box::pin(async move {
            let total = leave_mark(tx, &request.text).await?;
            match request.text.as_str() {
                "refuse" => Err(Problem::state_conflict(format!("Refused with {total} marks."))),
                "break" => Err(Problem::internal("told to break")),
                "panic" => panic!("told to panic in the transaction"),
                text => Ok(Created(Marked { text: text.to_owned(), count: request.count.unwrap_or(0), total })),
            }
        })
    })
    .await
}

async fn mark_below(
    ctx: RequestCtx,
    Path(_): Path<String>,
    body: Body<Mark>,
) -> Result<Committed<Created<Marked>>, Problem> {
    mark(ctx, body).await
}

async fn panic_outside(_: RequestCtx, Body(_): Body<Mark>) -> Result<Committed<Created<Marked>>, Problem> {
    panic!("told to panic outside the transaction")
}

async fn panic_reading(_: ReadCtx) -> Result<Json<Marked>, Problem> {
    panic!("told to panic while reading")
}

/// What no transaction may do: wait for something other than its connection.
async fn wait_inside(ctx: RequestCtx, Body(_): Body<Mark>) -> Result<Committed<Created<Marked>>, Problem> {
    ctx.commit((), |tx, ()| {
        Box::pin(async move {
            let total = leave_mark(tx, "waited").await?;
            tokio::task::yield_now().await;
            Ok(Created(Marked { text: "waited".into(), count: 0, total }))
        })
    })
    .await
}

/// Rings when a request has arrived where it is held. Each test is a process of its own, so one bell is enough.
pub static ARRIVED: LazyLock<Notify> = LazyLock::new(Notify::new);
/// One permit lets one request go.
pub static RELEASE: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(0));

async fn held(ctx: ReadCtx) -> Result<Json<Marked>, Problem> {
    drop(ctx);
    ARRIVED.notify_one();
    RELEASE.acquire().await.map_err(Problem::internal)?.forget();
    Ok(Json(Marked { text: "let go".into(), count: 0, total: 0 }))
}

/// Is held in the middle of its transaction, by its thread.
async fn held_mark(ctx: RequestCtx, Body(request): Body<Mark>) -> Result<Committed<Created<Marked>>, Problem> {
    ctx.commit(request, |tx, request| {
        Box::pin(async move {
            let total = leave_mark(tx, &request.text).await?;
            ARRIVED.notify_one();
            tokio::task::block_in_place(|| {
                while RELEASE.try_acquire().is_err() {
                    std::thread::yield_now();
                }
            });
            Ok(Created(Marked { text: request.text.to_string(), count: 0, total }))
        })
    })
    .await
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filters {
    #[serde(default)]
    colour: Option<Text<1, 20>>,
}

db::row! {
    #[derive(Serialize, JsonSchema)]
    struct Item {
        id: i64,
        colour: String,
    }
}

async fn items(mut ctx: ReadCtx, listing: Listing<Filters, i64>) -> Result<Page<Item>, Problem> {
    let after = listing.after.unwrap_or(i64::MAX);
    let colour = listing.filters.colour.as_ref().map(|colour| colour.to_string());
    let rows: Vec<Item> = ctx
        .all(
            "SELECT id, colour FROM probe_items WHERE id < $1 AND ($2 IS NULL OR colour = $2) ORDER BY id DESC LIMIT $3",
            params![after, colour, listing.fetch()],
        )
        .await?;
    listing.page(rows, |row| row.id, |row| row)
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Asked")]
pub struct Question {
    number: i64,
    #[serde(default)]
    text: Option<String>,
}

async fn ask(_: ReadCtx, Query(question): Query<Question>) -> Result<Json<Question>, Problem> {
    Ok(Json(question))
}

const PROBES: Tag = Tag { name: "Probes", description: "Endpoints that only tests have." };

pub fn table() -> Vec<Endpoint> {
    use Limit::{Reads, SignIn, Writes};
    use Who::{Anyone, SignedIn};
    let about = "Does what a test needs.";
    vec![
        post("/marks", mark, "mark", "Leaves a mark")
            .about(about)
            .idempotent()
            .who(SignedIn)
            .limit(Writes)
            .audit("probe.mark")
            .problems(&[Code::StateConflict])
            .under(PROBES),
        post("/marks/{name}", mark_below, "markBelow", "Leaves a mark elsewhere")
            .about(about)
            .who(SignedIn)
            .limit(Writes)
            .audit("probe.mark")
            .problems(&[Code::StateConflict])
            .under(PROBES),
        post("/open-marks", mark, "markOpenly", "Leaves a mark for anyone")
            .about(about)
            .who(Anyone)
            .limit(SignIn)
            .audit("probe.mark")
            .problems(&[Code::StateConflict])
            .under(PROBES),
        post("/panics", panic_outside, "panicOutside", "Panics")
            .about(about)
            .who(SignedIn)
            .limit(Writes)
            .audit("probe.panic")
            .under(PROBES),
        get("/panics", panic_reading, "panicReading", "Panics")
            .about(about)
            .who(Anyone)
            .limit(Limit::None)
            .under(PROBES),
        post("/waits", wait_inside, "waitInside", "Waits inside")
            .about(about)
            .who(SignedIn)
            .limit(Writes)
            .audit("probe.wait")
            .under(PROBES),
        get("/held", held, "held", "Waits at the gate").about(about).who(Anyone).limit(Limit::None).under(PROBES),
        post("/held", held_mark, "heldMark", "Marks")
            .about(about)
            .who(SignedIn)
            .limit(Writes)
            .audit("probe.held")
            .under(PROBES),
        get("/items", items, "items", "A list").about(about).who(SignedIn).limit(Reads).under(PROBES),
        get("/other-items", items, "otherItems", "Another list").about(about).who(SignedIn).limit(Reads).under(PROBES),
        get("/questions", ask, "ask", "Asks").about(about).who(Anyone).limit(Limit::None).under(PROBES),
    ]
}

/// A world with these endpoints and nothing else, without limits.
pub async fn world(db: &TestDb) -> World {
    world_with(db, &[("TRUNKLINE_RATE_LIMITS", "off")]).await
}

pub async fn world_with(db: &TestDb, settings: &[(&str, &str)]) -> World {
    db.ddl(TABLES).await;
    World::with_table(db, settings, table()).await
}

pub async fn caller(world: &World) -> Client {
    world.minted(Role::Customer).await
}

/// How many marks are in the database.
pub async fn marks(db: &TestDb) -> i64 {
    let mut reader = db.read().await.unwrap();
    let (count,) = reader.one("SELECT CAST(count(*) AS BIGINT) FROM probe_marks", params![]).await.unwrap();
    count
}
