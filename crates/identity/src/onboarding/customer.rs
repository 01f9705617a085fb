//! What a prospect sees and says of itself.

use serde_json::{Value, json};

use super::store::{self, Prospect};
use super::types::{
    MyAccountResponse, MyAccountUpdate, MyWaitlistResponse, TrafficProfileRequest, TrafficProfileResponse,
};
use super::{Event, happened, must_be_active, rules, waitlist};
use crate::accounts::{self, Details};
use crate::users;
use api::answer::Json;
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::Body;
use api::problem::Problem;
use db::{Conn, DbError};
use values::{AccountId, UnixSeconds};

pub async fn my_account(mut ctx: ReadCtx) -> Result<Json<MyAccountResponse>, Problem> {
    let account = ctx.principal()?.account_id;
    let prospect = store::prospect(&mut ctx, account).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(view(&mut ctx, prospect).await?))
}

async fn view(conn: &mut Conn, prospect: Prospect) -> Result<MyAccountResponse, Problem> {
    let waitlist_position = position(conn, &prospect).await?;
    Ok(MyAccountResponse {
        id: prospect.account_id,
        legal_name: prospect.company_name,
        trading_name: prospect.trading_name,
        country: prospect.country,
        vat_id: prospect.vat_id,
        contact_name: prospect.contact_name,
        contact_email: prospect.contact_email,
        contact_phone: prospect.contact_phone,
        status: prospect.beta_status,
        waitlist_position,
        waitlist_joined_at: prospect.waitlist_joined_at.map(UnixSeconds),
        created_at: prospect.created_at.into(),
    })
}

pub async fn change_my_account(
    ctx: RequestCtx,
    Body(changes): Body<MyAccountUpdate>,
) -> Result<Committed<Json<MyAccountResponse>>, Problem> {
    let account = ctx.principal()?.account_id;
    ctx.commit((account, changes), |tx, (account, changes)| Box::pin(apply(tx, *account, changes))).await
}

async fn apply(
    tx: &mut Tx<'_>,
    account: AccountId,
    changes: &MyAccountUpdate,
) -> Result<Json<MyAccountResponse>, Problem> {
    let now = tx.ctx.now;
    accounts::lock(tx, account).await?;
    must_be_active(tx, account).await?;
    let before = store::prospect(tx, account).await?.ok_or_else(Problem::not_found)?;
    let shown = view(tx, before.clone()).await?;
    tx.expect_version(&shown)?;
    let mut after = before.clone();
    changes.apply(&mut after);
    if after.country != before.country {
        let known = store::standing(tx, account).await?.ok_or_else(Problem::not_found)?;
        rules::may_move_country(before.country, known.standing().onboarding)
            .map_err(|refusal| Problem::state_conflict(refusal.to_string()))?;
    }
    tx.ctx.audit_changes(facts(&before), facts(&after));
    let details = Details {
        trading_name: after.trading_name.as_deref(),
        country: after.country,
        contact_name: &after.contact_name,
        contact_phone: after.contact_phone.clone(),
    };
    accounts::set_details(tx, account, &details, now).await?;
    if after.contact_name != before.contact_name {
        users::rename(tx, &after.contact_email, &after.contact_name, now).await?;
    }
    Ok(Json(view(tx, after).await?))
}

/// What the audit log tells of a change.
fn facts(of: &Prospect) -> [(&'static str, Value); 4] {
    [
        ("trading_name", json!(of.trading_name)),
        ("country", json!(of.country)),
        ("contact_name", json!(of.contact_name)),
        ("contact_phone", json!(of.contact_phone)),
    ]
}

/// The prospect's place, if it waits.
pub async fn position(conn: &mut Conn, prospect: &Prospect) -> Result<Option<i64>, DbError> {
    match prospect.waitlist_ticket {
        Some(ticket) => waitlist::position(conn, ticket).await.map(Some),
        None => Ok(None),
    }
}

pub async fn my_waitlist(mut ctx: ReadCtx) -> Result<Json<MyWaitlistResponse>, Problem> {
    let account = ctx.principal()?.account_id;
    let prospect = store::prospect(&mut ctx, account).await?.ok_or_else(Problem::not_found)?;
    let position = position(&mut ctx, &prospect).await?;
    let total = waitlist::total(&mut ctx).await?;
    Ok(Json(MyWaitlistResponse { position, total, status: prospect.beta_status }))
}

pub async fn traffic_profile(mut ctx: ReadCtx) -> Result<Json<TrafficProfileResponse>, Problem> {
    let account = ctx.principal()?.account_id;
    let profile = store::traffic_profile(&mut ctx, account).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(profile.into()))
}

pub async fn put_traffic_profile(
    ctx: RequestCtx,
    Body(request): Body<TrafficProfileRequest>,
) -> Result<Committed<Json<TrafficProfileResponse>>, Problem> {
    let account = ctx.principal()?.account_id;
    ctx.commit((account, request), |tx, (account, request)| {
        Box::pin(async move {
            let now = tx.ctx.now;
            must_be_active(tx, *account).await?;
            match store::traffic_profile(tx, *account).await? {
                Some(current) => tx.expect_version(&TrafficProfileResponse::from(current))?,
                None => tx.expect_no_version()?,
            }
            store::keep_traffic_profile(tx, *account, request, now).await?;
            happened(tx, *account, Event::Profiled, now).await?;
            let kept = store::traffic_profile(tx, *account).await?.ok_or_else(Problem::not_found)?;
            Ok(Json(kept.into()))
        })
    })
    .await
}
