//! Deliveries of an endpoint: lists them, repeats them, and sends a test.

use super::deliver;
use super::endpoints;
use super::store::{self, DeliveryId, DeliveryRow, EndpointId, EndpointRow, Owner};
use super::types::{DeliveryFilters, DeliveryStatus, WebhookDelivery, WebhookReplay, WebhookReplayCreate};
use crate::events::WebhookTestData;
use api::answer::{Accepted, Json};
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::faults::Faults;
use api::page::{Listing, NewestFirst, Page};
use api::problem::Problem;
use identity::events::{self, EventId, EventType};
use values::Rfc3339;

/// Events that one replay sends.
const MAX_REPLAYED: usize = 10_000;
/// Events of the period that are looked at, at once and in all.
const PAGE: i64 = 10_000;
const MAX_PAGES: usize = 10;

pub async fn list(
    mut ctx: ReadCtx,
    owner: Owner,
    endpoint: EndpointId,
    listing: Listing<DeliveryFilters, NewestFirst<DeliveryId>>,
) -> Result<Page<WebhookDelivery>, Problem> {
    let endpoint = endpoints::find(&mut ctx, owner, endpoint).await?;
    let (status, before) = (listing.filters.status, listing.before());
    let rows = store::list_deliveries(&mut ctx, endpoint.id, status, before, listing.fetch()).await?;
    listing.page(rows, |row| (row.created_at, row.id), WebhookDelivery::from)
}

pub async fn show(
    mut ctx: ReadCtx,
    owner: Owner,
    endpoint: EndpointId,
    id: DeliveryId,
) -> Result<Json<WebhookDelivery>, Problem> {
    let endpoint = endpoints::find(&mut ctx, owner, endpoint).await?;
    let delivery = store::find_delivery(&mut ctx, endpoint.id, id).await?;
    Ok(Json(delivery.ok_or_else(Problem::not_found)?.into()))
}

/// Sends `webhook.test` to this endpoint alone.
pub async fn test(
    ctx: RequestCtx,
    owner: Owner,
    id: EndpointId,
) -> Result<Committed<Accepted<WebhookDelivery>>, Problem> {
    ctx.audit_note("webhook_endpoint_id", id.to_string());
    ctx.commit((owner, id), |tx, (owner, id)| {
        Box::pin(async move {
            let endpoint = find_enabled(tx, *owner, *id).await?;
            let data = WebhookTestData { webhook_endpoint_id: endpoint.id.uuid() };
            let event = events::record(tx, endpoint.account_id, EventType::WebhookTest, &data).await?;
            let delivery = DeliveryRow::new(tx, endpoint.id, event, EventType::WebhookTest);
            store::insert_deliveries(tx, std::slice::from_ref(&delivery)).await?;
            deliver::enqueue(tx, endpoint.id).await?;
            Ok(Accepted(delivery.into()))
        })
    })
    .await
}

/// Attempts a delivery again, with all its attempts.
pub async fn retry(
    ctx: RequestCtx,
    owner: Owner,
    endpoint: EndpointId,
    id: DeliveryId,
) -> Result<Committed<Accepted<WebhookDelivery>>, Problem> {
    ctx.audit_note("webhook_endpoint_id", endpoint.to_string());
    ctx.audit_note("delivery_id", id.to_string());
    ctx.commit((owner, endpoint, id), |tx, (owner, endpoint, id)| {
        Box::pin(async move {
            // Whose it is comes before what state it is in.
            let known = endpoints::find(tx, *owner, *endpoint).await?;
            let delivery = store::lock_delivery(tx, *id).await?.filter(|delivery| delivery.endpoint_id == known.id);
            let mut delivery = delivery.ok_or_else(Problem::not_found)?;
            refuse_disabled(&known)?;
            (delivery.status, delivery.tries) = (DeliveryStatus::Pending, 0);
            delivery.next_attempt_at = Some(tx.ctx.now);
            store::update_delivery(tx, &delivery).await?;
            deliver::enqueue(tx, known.id).await?;
            Ok(Accepted(delivery.into()))
        })
    })
    .await
}

/// Sends the events of a period again, also those that the endpoint missed while it was disabled.
pub async fn replay(
    ctx: RequestCtx,
    owner: Owner,
    id: EndpointId,
    request: WebhookReplayCreate,
) -> Result<Committed<Accepted<WebhookReplay>>, Problem> {
    ctx.audit_note("webhook_endpoint_id", id.to_string());
    ctx.commit((owner, id, request), |tx, (owner, id, request)| {
        Box::pin(async move {
            let endpoint = find_enabled(tx, *owner, *id).await?;
            let selected = selected_events(tx, &endpoint, request).await?;
            let deliveries = store::replay(tx, endpoint.id, &selected, request.only_failed).await?;
            deliver::enqueue(tx, endpoint.id).await?;
            Ok(Accepted(WebhookReplay { deliveries: i64::try_from(deliveries).unwrap_or(i64::MAX) }))
        })
    })
    .await
}

/// The events of the period that the endpoint selects, or those that could not be delivered to it.
async fn selected_events(
    tx: &mut Tx<'_>,
    endpoint: &EndpointRow,
    request: &WebhookReplayCreate,
) -> Result<Vec<(EventId, EventType)>, Problem> {
    let WebhookReplayCreate { from: Rfc3339(from), to, .. } = *request;
    let period = (from, to.map_or(tx.ctx.now, |Rfc3339(to)| to));
    if request.only_failed {
        let failed = store::failed_events(tx, endpoint.id, period, PAGE + 1).await?;
        return fitting(failed);
    }
    let account = (!endpoint.is_team).then_some(endpoint.account_id);
    let (mut selected, mut after) = (Vec::new(), 0);
    for _ in 0..MAX_PAGES {
        let page = events::range(tx, account, period, after, PAGE).await?;
        after = page.last().map_or(after, |event| event.position);
        let is_last = (page.len() as i64) < PAGE;
        selected
            .extend(page.into_iter().filter(|event| endpoint.selects(event.kind)).map(|event| (event.id, event.kind)));
        if is_last || selected.len() > MAX_REPLAYED {
            return fitting(selected);
        }
    }
    Err(too_long())
}

fn fitting(events: Vec<(EventId, EventType)>) -> Result<Vec<(EventId, EventType)>, Problem> {
    if events.len() > MAX_REPLAYED { Err(too_long()) } else { Ok(events) }
}

fn too_long() -> Problem {
    let mut faults = Faults::default();
    faults.add("to", format!("must be earlier: the period has more than {MAX_REPLAYED} events"));
    faults.into()
}

async fn find_enabled(tx: &mut Tx<'_>, owner: Owner, id: EndpointId) -> Result<EndpointRow, Problem> {
    let endpoint = endpoints::find(tx, owner, id).await?;
    refuse_disabled(&endpoint)?;
    Ok(endpoint)
}

fn refuse_disabled(endpoint: &EndpointRow) -> Result<(), Problem> {
    if endpoint.is_enabled {
        return Ok(());
    }
    Err(Problem::state_conflict("The webhook endpoint is disabled. Enable it first."))
}
