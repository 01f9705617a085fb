//! `GET /admin/service`: the state of the service itself, for the team.
//!
//! Every node reports itself to the database, with the edges that called it ([`report`]); the one that is asked lists
//! them all. What a load balancer and a monitoring system need is on the operations port (`/readyz`, `/metrics`).

mod store;

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use api::answer::Report;
use api::context::ReadCtx;
use api::problem::Problem;
use db::{Conn, DbError, MIGRATIONS, applied_migrations};
use platform::app::App;
use platform::jobs;
use store::{EdgeRow, NodeRow};
use values::{Rfc3339, Time};

/// How often a node reports itself.
pub const REPORT_INTERVAL: Duration = Duration::from_secs(15);

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// A node that did not report for so long is gone.
const NODE_TTL: Duration = Duration::from_secs(60);
/// An edge asks for its configuration every two seconds, or reports its live calls every minute.
const EDGE_TTL: Duration = Duration::from_secs(150);
/// How long an edge that is silent is listed.
const EDGE_LISTED: Duration = Duration::from_secs(24 * 3600);

/// State of the service.
#[derive(Serialize, JsonSchema)]
pub struct ServiceStatus {
    /// Version of the node that answers.
    #[schemars(example = "0.2.0")]
    version: &'static str,
    /// When that node started (RFC 3339, UTC).
    started_at: Rfc3339,
    /// Whether this is a lab, where some rules are relaxed.
    lab: bool,
    /// Database of the service.
    database: ServiceDatabase,
    /// Nodes that run, the oldest first.
    nodes: Vec<ServiceNode>,
    /// Classes of jobs with what waits in them.
    job_classes: Vec<JobClassStatus>,
    /// Number of jobs that failed too often; counted up to 10,000.
    #[schemars(example = 0)]
    dead_jobs: i64,
    /// Edges that were seen in the last day, by name.
    edges: Vec<ServiceEdge>,
}

/// Database of the service.
#[derive(Serialize, JsonSchema)]
pub struct ServiceDatabase {
    /// Engine: `sqlite` or `postgresql`.
    #[schemars(example = &"postgresql")]
    engine: &'static str,
    /// Version of the engine.
    #[schemars(example = "17.2")]
    version: String,
    /// Number of migrations that were applied.
    #[schemars(example = 62)]
    migrations: i64,
    /// Number of migrations of this release that were not; 0 unless something is wrong.
    #[schemars(example = 0)]
    pending_migrations: i64,
}

/// A process of the service.
#[derive(Serialize, JsonSchema)]
pub struct ServiceNode {
    /// Id of the node, a new one at each start.
    id: Uuid,
    /// Version of the node.
    #[schemars(example = "0.2.0")]
    version: String,
    /// When it started (RFC 3339, UTC).
    started_at: Rfc3339,
    /// When it last reported itself (RFC 3339, UTC).
    seen_at: Rfc3339,
    /// Whether it is the one that answers.
    current: bool,
}

/// A class of jobs.
#[derive(Serialize, JsonSchema)]
pub struct JobClassStatus {
    /// Name of the class, such as `money`.
    #[schemars(example = &"money")]
    class: &'static str,
    /// Jobs that are due and not running; counted up to 10,000.
    #[schemars(example = 0)]
    waiting: i64,
    /// How long the class is behind, in seconds.
    #[schemars(example = 0)]
    lag_seconds: u64,
}

/// A switch in front of customers and upstreams.
#[derive(Serialize, JsonSchema)]
pub struct ServiceEdge {
    /// Id of the edge.
    edge_id: String,
    /// When it last called a node (RFC 3339, UTC).
    seen_at: Rfc3339,
    /// Whether that was a short time ago.
    alive: bool,
}

pub async fn show(mut ctx: ReadCtx) -> Result<Report<ServiceStatus>, Problem> {
    let (app, now) = (ctx.request.app.clone(), ctx.request.now);
    let (engine, version) = ctx.engine_version().await?;
    let migrations = applied_migrations(&mut ctx).await?;
    let known = i64::try_from(MIGRATIONS.len()).map_err(Problem::internal)?;
    let queue = jobs::queue_stats(&mut ctx).await?;
    let nodes = store::nodes(&mut ctx, now.minus(NODE_TTL)).await?;
    let edges = store::edges(&mut ctx, now.minus(EDGE_LISTED)).await?;
    let job_class = |stats: &jobs::ClassStats| JobClassStatus {
        class: stats.class.as_str(),
        waiting: stats.waiting,
        lag_seconds: stats.lag.as_secs(),
    };
    Ok(Report(ServiceStatus {
        version: VERSION,
        started_at: app.presence.started_at.into(),
        lab: app.settings.lab.is_lab,
        database: ServiceDatabase {
            engine,
            version,
            migrations,
            pending_migrations: known.saturating_sub(migrations).max(0),
        },
        nodes: list_nodes(&app, nodes),
        job_classes: queue.classes.iter().map(job_class).collect(),
        dead_jobs: queue.dead,
        edges: edges.into_iter().map(|edge| ServiceEdge::new(edge, now)).collect(),
    }))
}

/// The nodes that reported themselves, and this one in any case.
fn list_nodes(app: &App, rows: Vec<NodeRow>) -> Vec<ServiceNode> {
    let own = app.presence.node_id;
    let is_listed = rows.iter().any(|row| row.id == own);
    let started_at = app.presence.started_at;
    let unlisted = NodeRow { id: own, version: VERSION.to_owned(), started_at, seen_at: started_at };
    let rows = rows.into_iter().chain(Some(unlisted).filter(|_| !is_listed));
    rows.map(|row| ServiceNode {
        current: row.id == own,
        id: row.id,
        version: row.version,
        started_at: row.started_at.into(),
        seen_at: row.seen_at.into(),
    })
    .collect()
}

impl ServiceEdge {
    fn new(row: EdgeRow, now: Time) -> ServiceEdge {
        let alive = row.seen_at >= now.minus(EDGE_TTL);
        ServiceEdge { edge_id: row.edge_id, seen_at: row.seen_at.into(), alive }
    }
}

/// The edges that called in the last day, by name, and whether they still do.
pub async fn edges_of_today(conn: &mut Conn) -> Result<Vec<(String, bool)>, DbError> {
    let now = conn.now();
    let rows = store::edges(conn, now.minus(EDGE_LISTED)).await?;
    let edges = rows.into_iter().map(|row| ServiceEdge::new(row, now));
    Ok(edges.map(|edge| (edge.edge_id, edge.alive)).collect())
}

/// Reports this node, and the edges that called it since the last time.
pub async fn report(app: &App) -> Result<(), DbError> {
    let work = (app.clone(), app.presence.take_edges());
    app.db
        .tx(work, |conn, (app, edges)| {
            Box::pin(async move {
                let now = conn.now();
                store::report_node(conn, &app.presence, VERSION, now.minus(EDGE_LISTED)).await?;
                store::report_edges(conn, edges, now.minus(EDGE_LISTED)).await
            })
        })
        .await
}

/// Removes this node from the list.
pub async fn leave(app: &App) -> Result<(), DbError> {
    let id = app.presence.node_id;
    app.db.tx(id, |conn, id| Box::pin(store::delete_node(conn, *id))).await
}
