//! Callbacks of payment providers.
//!
//! A callback is believed only as far as its signature goes: it says that something happened to an order. It is written
//! down once, however often it comes, and a job then fetches the order from the provider and tells whoever waits for it.

use std::borrow::Cow;
use std::convert::Infallible;
use std::str::FromStr;

use hyper::StatusCode;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Value, json};

use crate::card_check;
use crate::payments;
use api::answer::{Answer, Rendered};
use api::context::{Committed, RequestCtx};
use api::input::{Path, Signed};
use api::problem::Problem;
use db::{Conn, DbError, params, sql};
use platform::app::App;
use platform::audit::Actor;
use platform::jobs::{JobContext, JobError, Kind, NewJob, enqueue};
use platform::outside::payments::{Notice, Provider};
use values::Time;

pub const FOLLOW_UP: Kind = Kind::new("payment.follow_up");

/// What a provider hears.
#[derive(Serialize, JsonSchema)]
pub struct CallbackResponse {
    /// Whether the callback was taken.
    ok: bool,
}

impl Answer for CallbackResponse {
    const STATUS: StatusCode = StatusCode::OK;
    const REFUSAL: Option<StatusCode> = Some(StatusCode::UNAUTHORIZED);

    fn content(schemas: &mut SchemaGenerator) -> Option<Value> {
        Some(json!({"application/json": {"schema": schemas.subschema_for::<CallbackResponse>()}}))
    }

    fn render(self) -> Result<Rendered, Problem> {
        Rendered::json(if self.ok { Self::STATUS } else { StatusCode::UNAUTHORIZED }, &self)
    }
}

/// Whose callback it is by its path. A name we do not know is read too, so that the audit log tells who was refused:
/// somebody who spoke as a provider.
pub struct Addressed(Option<Provider>);

impl FromStr for Addressed {
    type Err = Infallible;

    fn from_str(name: &str) -> Result<Self, Infallible> {
        Ok(Addressed(name.parse().ok()))
    }
}

impl JsonSchema for Addressed {
    fn schema_name() -> Cow<'static, str> {
        Provider::schema_name()
    }

    fn json_schema(schemas: &mut SchemaGenerator) -> Schema {
        Provider::json_schema(schemas)
    }
}

pub async fn payment(
    ctx: RequestCtx,
    Path(Addressed(provider)): Path<Addressed>,
    signed: Signed,
) -> Result<Committed<CallbackResponse>, Problem> {
    ctx.acted(Actor::Webhook);
    let payments = &ctx.app.payments;
    let provider = provider.filter(|provider| payments.provider() == *provider).ok_or_else(Problem::not_found)?;
    ctx.note("provider", provider.as_str());
    let notice = match payments.read_callback(&signed.headers, &signed.body, ctx.now) {
        Ok(notice) => notice,
        Err(forged) => return ctx.decline(CallbackResponse { ok: false }, forged.0).await,
    };
    ctx.note("order_id", notice.order_id.as_str());
    ctx.note("event", notice.event.as_str());
    ctx.commit((provider, notice), |tx, (provider, notice)| {
        Box::pin(async move {
            let (app, now) = (&tx.ctx.app, tx.ctx.now);
            if record(tx, *provider, notice, now).await? {
                card_check::provider_called(tx, *provider, &notice.order_id, now).await?;
                let payload = json!({"order_id": notice.order_id});
                enqueue(tx, &NewJob { id: app.entropy.uuid(now), kind: FOLLOW_UP, payload, run_at: now }).await?;
            }
            Ok(CallbackResponse { ok: true })
        })
    })
    .await
}

/// Writes a callback down; false when it is known.
async fn record(conn: &mut Conn, provider: Provider, notice: &Notice, now: Time) -> Result<bool, DbError> {
    let recorded = conn
        .exec(
            sql!(
                "INSERT INTO payment_callbacks (provider, order_id, event, received_at) VALUES ($1, $2, $3, $4)
                 ON CONFLICT (provider, order_id, event) DO NOTHING"
            ),
            params![provider, notice.order_id, notice.event, now],
        )
        .await?;
    Ok(recorded == 1)
}

/// Fetches the order a callback spoke of, and tells whoever waits for it.
pub async fn follow_up_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let id = payload["order_id"].as_str().ok_or_else(|| JobError::Permanent("it names no order".into()))?;
    let order = context.app.payments.order(id).await.map_err(|error| JobError::Failed(error.to_string()))?;
    // An order that the provider does not know is nobody's.
    let Some(order) = order else { return Ok(()) };
    let failed = |problem| JobError::Failed(format!("{problem:?}"));
    card_check::settle(&context.app, order.clone(), Actor::Webhook).await.map_err(failed)?;
    payments::settle(&context.app, order, Actor::Webhook).await.map_err(failed)
}

/// Forgets callbacks that no provider repeats any more.
pub async fn forget(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "DELETE FROM payment_callbacks WHERE (provider, order_id, event) IN
                 (SELECT provider, order_id, event FROM payment_callbacks WHERE received_at <= $1
                  ORDER BY received_at LIMIT $2)"
        ),
        params![cutoff, batch],
    )
    .await
}
