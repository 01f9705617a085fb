//! Creates, changes and deletes endpoints.

use super::deliver;
use super::rules::ROTATION;
use super::secret;
use super::store::{self, EndpointId, EndpointRow, Owner};
use super::types::{NewWebhookEndpoint, WebhookEndpoint, WebhookEndpointCreate, WebhookEndpointUpdate, WebhookSecret};
use api::answer::{Created, Json, NoContent};
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::page::{Listing, NewestFirst, Page, Unfiltered};
use api::problem::Problem;
use db::Conn;
use identity::accounts;
use platform::app::App;
use platform::jobs::{JobContext, JobError};
use serde::Deserialize;
use serde_json::Value;
use values::{AccountId, Rfc3339, Time, Words};

/// Maximum number of endpoints of an account, and of the team.
const MAX_ENDPOINTS: i64 = 10;

pub async fn list(
    mut ctx: ReadCtx,
    owner: Owner,
    listing: Listing<Unfiltered, NewestFirst<EndpointId>>,
) -> Result<Page<WebhookEndpoint>, Problem> {
    let rows = store::list(&mut ctx, owner, listing.before(), listing.fetch()).await?;
    listing.page(rows, |row| (row.created_at, row.id), WebhookEndpoint::from)
}

pub async fn show(mut ctx: ReadCtx, owner: Owner, id: EndpointId) -> Result<Json<WebhookEndpoint>, Problem> {
    Ok(Json(find(&mut ctx, owner, id).await?.into()))
}

/// The owner's endpoint.
pub async fn find(conn: &mut Conn, owner: Owner, id: EndpointId) -> Result<EndpointRow, Problem> {
    store::find(conn, owner, id).await?.ok_or_else(Problem::not_found)
}

pub async fn create(
    ctx: RequestCtx,
    owner: Owner,
    request: WebhookEndpointCreate,
) -> Result<Committed<Created<NewWebhookEndpoint>>, Problem> {
    let WebhookEndpointCreate { url, description, event_types, enabled } = request;
    let (shown, sealed) = secret::new(&ctx.app.keys);
    let mut new = EndpointRow {
        id: ctx.new_id(),
        account_id: owner.account,
        is_team: owner.is_team,
        url,
        description,
        event_types: Words(event_types),
        wants_calls: false,
        is_enabled: enabled,
        disabled_reason: None,
        secret: sealed,
        previous_secret: None,
        previous_until: None,
        failing_since: None,
        created_at: ctx.now,
        updated_at: ctx.now,
        deleted_at: None,
    };
    new.sort_event_types();
    ctx.audit_note("webhook_endpoint_id", new.id.to_string());
    ctx.commit((new, owner, secret::show(&shown)), |tx, (new, owner, secret)| {
        Box::pin(async move {
            // Two requests cannot both be the tenth.
            accounts::lock(tx, owner.account).await?;
            if store::count(tx, *owner).await? >= MAX_ENDPOINTS {
                return Err(Problem::state_conflict(format!(
                    "There are {MAX_ENDPOINTS} webhook endpoints, which is the limit. Delete one first."
                )));
            }
            tx.insert(new).await?;
            Ok(Created(NewWebhookEndpoint { endpoint: new.clone().into(), secret: secret.clone() }))
        })
    })
    .await
}

pub async fn update(
    ctx: RequestCtx,
    owner: Owner,
    id: EndpointId,
    request: WebhookEndpointUpdate,
) -> Result<Committed<Json<WebhookEndpoint>>, Problem> {
    ctx.audit_note("webhook_endpoint_id", id.to_string());
    ctx.commit((owner, id, request), |tx, (owner, id, request)| {
        Box::pin(async move {
            let mut endpoint = lock(tx, *owner, *id).await?;
            tx.expect_version(&WebhookEndpoint::from(endpoint.clone()))?;
            let was_enabled = endpoint.is_enabled;
            request.clone().apply(&mut endpoint);
            endpoint.updated_at = tx.ctx.now;
            tx.update(&endpoint).await?;
            if endpoint.is_enabled && !was_enabled {
                deliver::enqueue(tx, endpoint.id).await?;
            }
            Ok(Json(endpoint.into()))
        })
    })
    .await
}

pub async fn delete(ctx: RequestCtx, owner: Owner, id: EndpointId) -> Result<Committed<NoContent>, Problem> {
    ctx.audit_note("webhook_endpoint_id", id.to_string());
    ctx.commit((owner, id), |tx, (owner, id)| {
        Box::pin(async move {
            let mut endpoint = lock(tx, *owner, *id).await?;
            endpoint.deleted_at = Some(tx.ctx.now);
            endpoint.is_enabled = false;
            tx.update(&endpoint).await?;
            Ok(NoContent)
        })
    })
    .await
}

#[derive(Deserialize)]
struct Dropped {
    account_id: AccountId,
    /// When the mailbox was proved, in Unix milliseconds.
    until: i64,
}

/// Deletes the endpoints that an account had when its owner proved the mailbox: somebody else may have created them.
pub async fn delete_early_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let Dropped { account_id, until } =
        serde_json::from_value(payload).map_err(|error| JobError::Permanent(error.to_string()))?;
    let work = (context.clone(), account_id, Time::from_millis(until));
    context
        .db
        .tx(work, |conn, (context, account, until)| {
            Box::pin(async move {
                store::delete_created_until(conn, *account, *until).await?;
                context.finish_in(conn).await
            })
        })
        .await
}

/// Replaces the secret; for a day deliveries carry signatures with both.
pub async fn rotate_secret(
    ctx: RequestCtx,
    owner: Owner,
    id: EndpointId,
) -> Result<Committed<Json<WebhookSecret>>, Problem> {
    ctx.audit_note("webhook_endpoint_id", id.to_string());
    let (shown, sealed) = secret::new(&ctx.app.keys);
    ctx.commit((owner, id, secret::show(&shown), sealed), |tx, (owner, id, secret, sealed)| {
        Box::pin(async move {
            let mut endpoint = lock(tx, *owner, *id).await?;
            let previous_until = tx.ctx.now.plus(ROTATION);
            endpoint.previous_secret = Some(std::mem::replace(&mut endpoint.secret, sealed.clone()));
            endpoint.previous_until = Some(previous_until);
            endpoint.updated_at = tx.ctx.now;
            tx.update(&endpoint).await?;
            Ok(Json(WebhookSecret { secret: secret.clone(), previous_until: Rfc3339(previous_until) }))
        })
    })
    .await
}

async fn lock(tx: &mut Tx<'_>, owner: Owner, id: EndpointId) -> Result<EndpointRow, Problem> {
    store::lock(tx, owner, id).await?.ok_or_else(Problem::not_found)
}
