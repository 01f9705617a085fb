//! Webhooks of payment providers (`POST /v1/webhooks/payments/{provider}`).
//!
//! A webhook with a valid signature says only that something happened to an order or a dispute. It is stored once,
//! however often it is delivered, and a job then fetches the order or dispute from the provider and applies it to the
//! payment or card verification it belongs to.

use std::borrow::Cow;
use std::convert::Infallible;
use std::str::FromStr;

use hyper::StatusCode;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Value, json};

use crate::card_check;
use crate::payments::{self, chargebacks};
use api::answer::{Answer, Rendered};
use api::context::{Committed, RequestCtx};
use api::input::{Path, Signed};
use api::problem::Problem;
use db::{Conn, DbError, insert, params, sql};
use platform::app::App;
use platform::audit::Actor;
use platform::jobs::{Class, JobContext, JobError, Kind, enqueue};
use platform::outside::payments::{Provider, WebhookEvent, WebhookSubject};
use values::Time;

pub const FETCH_ORDER: Kind = Kind::new("payment.follow_up").class(Class::Payments);

/// Acknowledgement of a provider webhook.
#[derive(Serialize, JsonSchema)]
pub struct CallbackResponse {
    /// True when the webhook was accepted; false, with status 401, when its signature is not valid.
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

/// The provider named in the path. An unknown name parses too, so that the request is audited with the actor `webhook`
/// before it is answered with 404.
pub struct PathProvider(Option<Provider>);

impl FromStr for PathProvider {
    type Err = Infallible;

    fn from_str(name: &str) -> Result<Self, Infallible> {
        Ok(PathProvider(name.parse().ok()))
    }
}

impl JsonSchema for PathProvider {
    fn schema_name() -> Cow<'static, str> {
        Provider::schema_name()
    }

    fn json_schema(schemas: &mut SchemaGenerator) -> Schema {
        Provider::json_schema(schemas)
    }
}

pub async fn receive(
    ctx: RequestCtx,
    Path(PathProvider(provider)): Path<PathProvider>,
    signed: Signed,
) -> Result<Committed<CallbackResponse>, Problem> {
    ctx.audit_actor(Actor::Webhook);
    let payments = &ctx.app.payments;
    let provider = provider.filter(|provider| payments.provider() == *provider).ok_or_else(Problem::not_found)?;
    ctx.audit_note("provider", provider.as_str());
    let notice = match payments.verify_webhook(&signed.headers, &signed.body, ctx.now) {
        Ok(notice) => notice,
        Err(forged) => return ctx.decline(CallbackResponse { ok: false }, forged.0).await,
    };
    match &notice.subject {
        WebhookSubject::Order(id) => ctx.audit_note("order_id", id.as_str()),
        WebhookSubject::Dispute(id) => ctx.audit_note("dispute_id", id.as_str()),
    }
    ctx.audit_note("event", notice.event.as_str());
    ctx.commit((provider, notice), |tx, (provider, notice)| {
        Box::pin(async move {
            if insert_callback(tx, *provider, notice).await? {
                follow_up(tx, *provider, &notice.subject).await?;
            }
            Ok(CallbackResponse { ok: true })
        })
    })
    .await
}

/// Enqueues the job that fetches what a webhook is about.
async fn follow_up(conn: &mut Conn, provider: Provider, subject: &WebhookSubject) -> Result<(), DbError> {
    match subject {
        WebhookSubject::Order(id) => {
            card_check::mark_completing(conn, provider, id).await?;
            enqueue(conn, FETCH_ORDER, json!({ "order_id": id })).await?;
        }
        WebhookSubject::Dispute(id) => {
            enqueue(conn, chargebacks::FETCH, json!({ "dispute_id": id })).await?;
        }
    }
    Ok(())
}

/// Stores a webhook; false when it was stored before.
async fn insert_callback(conn: &mut Conn, provider: Provider, notice: &WebhookEvent) -> Result<bool, DbError> {
    let now = conn.now();
    let inserted = insert!(
        conn,
        payment_callbacks { provider, order_id: notice.subject.id(), event: notice.event, received_at: now },
        "ON CONFLICT (provider, order_id, event) DO NOTHING"
    )
    .await?;
    Ok(inserted == 1)
}

/// Fetches the order that a webhook named, and applies it.
pub async fn fetch_order_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let id = payload["order_id"].as_str().ok_or_else(|| JobError::Permanent("the payload has no order_id".into()))?;
    let order = context.app.payments.order(id).await.map_err(|error| JobError::Failed(error.to_string()))?;
    // The provider does not know this order, so there is nothing to apply.
    let Some(order) = order else { return Ok(()) };
    let failed = |problem| JobError::Failed(format!("{problem:?}"));
    card_check::apply_order(&context.app, order.clone(), Actor::Webhook).await.map_err(failed)?;
    payments::apply_order(&context.app, order, Actor::Webhook).await.map_err(failed)
}

/// Deletes webhooks that are too old for the provider to repeat.
pub async fn purge(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
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
