//! `/webhook-endpoints`: the endpoints of the caller's account.

use super::store::{DeliveryId, EndpointId, Owner};
use super::types::{
    DeliveryFilters, NewWebhookEndpoint, WebhookDelivery, WebhookEndpoint, WebhookEndpointCreate,
    WebhookEndpointUpdate, WebhookReplay, WebhookReplayCreate, WebhookSecret,
};
use super::{deliveries, endpoints};
use api::answer::{Accepted, Created, Json, NoContent};
use api::auth::Principal;
use api::checks::Checked;
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::{Body, Path, PathPair};
use api::page::{Listing, NewestFirst, Page, Unfiltered};
use api::problem::Problem;
use identity::onboarding;
use values::AccountId;

fn owner(caller: &Principal) -> Owner {
    Owner { account: caller.account_id, is_team: false }
}

pub async fn list(
    ctx: ReadCtx,
    listing: Listing<Unfiltered, NewestFirst<EndpointId>>,
) -> Result<Page<WebhookEndpoint>, Problem> {
    let owner = owner(ctx.principal()?);
    endpoints::list(ctx, owner, listing).await
}

/// The same for the team, of any customer.
pub async fn list_of_customer(
    mut ctx: ReadCtx,
    Path(account): Path<AccountId>,
    listing: Listing<Unfiltered, NewestFirst<EndpointId>>,
) -> Result<Page<WebhookEndpoint>, Problem> {
    onboarding::require_customer(&mut ctx, account).await?;
    endpoints::list(ctx, Owner { account, is_team: false }, listing).await
}

pub async fn show(ctx: ReadCtx, Path(id): Path<EndpointId>) -> Result<Json<WebhookEndpoint>, Problem> {
    let owner = owner(ctx.principal()?);
    endpoints::show(ctx, owner, id).await
}

pub async fn create(
    ctx: RequestCtx,
    Body(Checked(request)): Body<Checked<WebhookEndpointCreate>>,
) -> Result<Committed<Created<NewWebhookEndpoint>>, Problem> {
    let owner = owner(ctx.principal()?);
    endpoints::create(ctx, owner, request).await
}

pub async fn update(
    ctx: RequestCtx,
    Path(id): Path<EndpointId>,
    Body(Checked(request)): Body<Checked<WebhookEndpointUpdate>>,
) -> Result<Committed<Json<WebhookEndpoint>>, Problem> {
    let owner = owner(ctx.principal()?);
    endpoints::update(ctx, owner, id, request).await
}

pub async fn delete(ctx: RequestCtx, Path(id): Path<EndpointId>) -> Result<Committed<NoContent>, Problem> {
    let owner = owner(ctx.principal()?);
    endpoints::delete(ctx, owner, id).await
}

pub async fn rotate_secret(
    ctx: RequestCtx,
    Path(id): Path<EndpointId>,
) -> Result<Committed<Json<WebhookSecret>>, Problem> {
    let owner = owner(ctx.principal()?);
    endpoints::rotate_secret(ctx, owner, id).await
}

pub async fn test(
    ctx: RequestCtx,
    Path(id): Path<EndpointId>,
) -> Result<Committed<Accepted<WebhookDelivery>>, Problem> {
    let owner = owner(ctx.principal()?);
    deliveries::test(ctx, owner, id).await
}

pub async fn list_deliveries(
    ctx: ReadCtx,
    Path(id): Path<EndpointId>,
    listing: Listing<DeliveryFilters, NewestFirst<DeliveryId>>,
) -> Result<Page<WebhookDelivery>, Problem> {
    let owner = owner(ctx.principal()?);
    deliveries::list(ctx, owner, id, listing).await
}

pub async fn show_delivery(
    ctx: ReadCtx,
    PathPair(endpoint, id): PathPair<EndpointId, DeliveryId>,
) -> Result<Json<WebhookDelivery>, Problem> {
    let owner = owner(ctx.principal()?);
    deliveries::show(ctx, owner, endpoint, id).await
}

pub async fn retry(
    ctx: RequestCtx,
    PathPair(endpoint, id): PathPair<EndpointId, DeliveryId>,
) -> Result<Committed<Accepted<WebhookDelivery>>, Problem> {
    let owner = owner(ctx.principal()?);
    deliveries::retry(ctx, owner, endpoint, id).await
}

pub async fn replay(
    ctx: RequestCtx,
    Path(id): Path<EndpointId>,
    Body(Checked(request)): Body<Checked<WebhookReplayCreate>>,
) -> Result<Committed<Accepted<WebhookReplay>>, Problem> {
    let owner = owner(ctx.principal()?);
    deliveries::replay(ctx, owner, id, request).await
}
