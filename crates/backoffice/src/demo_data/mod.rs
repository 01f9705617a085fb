//! Demo data for whoever looks around in a lab: `POST /admin/demo-data` starts the job that makes them, `GET` tells how
//! far it is.
//!
//! The job is the server's, since it runs a whole service on a clock that starts in the past. It works in a database of
//! its own and copies the result in one transaction: the data are there as a whole or not at all, and a job that was
//! interrupted begins again. See `server::demo`.

mod store;
mod types;

pub use store::has_customers;
pub use types::{DemoData, DemoDataCreate, MAX_DAYS, MIN_DAYS};

use serde_json::json;

use api::answer::{Accepted, Json};
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::OptionalBody;
use api::problem::Problem;
use db::{Conn, DbError};
use platform::app::{App, demo};
use platform::jobs::{self, Kind};
use platform::outside::payments::Provider;
use types::DemoDataStatus;

/// Fills the database. An attempt that ends with its node is made again.
pub const FILL: Kind = Kind::new("demo_data.fill").attempts(5);
/// There is one job at a time.
const ONLY: &str = "all";

pub async fn show(mut ctx: ReadCtx) -> Result<Json<DemoData>, Problem> {
    let app = ctx.request.app.clone();
    Ok(Json(view(&mut ctx, &app).await?))
}

pub async fn create(
    ctx: RequestCtx,
    OptionalBody(wanted): OptionalBody<DemoDataCreate>,
) -> Result<Committed<Accepted<DemoData>>, Problem> {
    if !is_lab(&ctx.app) {
        return Err(Problem::state_conflict("Demo data are made in a lab only, see TRUNKLINE_LAB."));
    }
    ctx.audit_note("days", wanted.days());
    ctx.commit(wanted, |tx, wanted| Box::pin(begin(tx, *wanted))).await
}

async fn begin(tx: &mut Tx<'_>, wanted: DemoDataCreate) -> Result<Accepted<DemoData>, Problem> {
    if store::has_customers(tx).await? {
        return Err(Problem::state_conflict("This database has customers. Demo data go into a database without any."));
    }
    if !store::begin(tx).await? {
        return Err(Problem::state_conflict("The demo data are being made already."));
    }
    jobs::enqueue_once(tx, FILL, ONLY, json!(wanted)).await?;
    let app = tx.ctx.app.clone();
    Ok(Accepted(view(tx, &app).await?))
}

async fn view(conn: &mut Conn, app: &App) -> Result<DemoData, DbError> {
    let is_possible = is_lab(app) && !store::has_customers(conn).await?;
    Ok(DemoData::new(store::find(conn).await?, is_possible, demo::is_marked(conn).await?))
}

fn is_lab(app: &App) -> bool {
    app.settings.lab.is_lab && app.payments.provider() == Provider::Sandbox
}

/// Records how much is done, in thousandths. False if a customer has come meanwhile, so that the work is in vain.
pub async fn report_progress(conn: &mut Conn, progress: i64) -> Result<bool, DbError> {
    store::set_progress(conn, progress).await?;
    Ok(!store::has_customers(conn).await?)
}

/// Records that the data are there.
pub async fn complete(conn: &mut Conn, message: &str) -> Result<(), DbError> {
    store::end(conn, DemoDataStatus::Done, message).await
}

/// Records why they are not.
pub async fn fail(conn: &mut Conn, message: &str) -> Result<(), DbError> {
    store::end(conn, DemoDataStatus::Failed, message).await
}
