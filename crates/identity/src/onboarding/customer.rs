//! The customer's handlers: `/me/account`, `/me/waitlist`, `/me/traffic-profile`.

use serde_json::{Value, json};

use super::store::{self, OnboardingAccount};
use super::types::{
    MyAccountResponse, MyAccountUpdate, MyWaitlistResponse, TrafficProfileRequest, TrafficProfileResponse,
};
use super::{Event, apply_event, require_active, rules};
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
    let row = store::find_account(&mut ctx, account).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(view(&mut ctx, row).await?))
}

async fn view(conn: &mut Conn, row: OnboardingAccount) -> Result<MyAccountResponse, Problem> {
    let waitlist_position = waitlist_position(conn, &row).await?;
    Ok(MyAccountResponse {
        id: row.account_id,
        legal_name: row.company_name,
        trading_name: row.trading_name,
        country: row.country,
        vat_id: row.vat_id,
        contact_name: row.contact_name,
        contact_email: row.contact_email,
        contact_phone: row.contact_phone,
        status: row.beta_status,
        waitlist_position,
        waitlist_joined_at: row.waitlist_joined_at.map(UnixSeconds),
        created_at: row.created_at.into(),
    })
}

pub async fn update_my_account(
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
    accounts::lock(tx, account).await?;
    require_active(tx, account).await?;
    let before = store::find_account(tx, account).await?.ok_or_else(Problem::not_found)?;
    let current = view(tx, before.clone()).await?;
    tx.expect_version(&current)?;
    let mut after = before.clone();
    changes.apply(&mut after);
    if after.country != before.country {
        let row = store::state(tx, account).await?.ok_or_else(Problem::not_found)?;
        rules::check_country_change(before.country, row.state().onboarding)
            .map_err(|error| Problem::state_conflict(error.to_string()))?;
    }
    tx.ctx.audit_changes(audited_fields(&before), audited_fields(&after));
    let details = Details {
        trading_name: after.trading_name.as_deref(),
        country: after.country,
        contact_name: &after.contact_name,
        contact_phone: after.contact_phone.clone(),
    };
    accounts::set_details(tx, account, &details).await?;
    if after.contact_name != before.contact_name {
        users::rename(tx, &after.contact_email, &after.contact_name).await?;
    }
    Ok(Json(view(tx, after).await?))
}

/// Fields whose changes go to the audit log.
fn audited_fields(row: &OnboardingAccount) -> [(&'static str, Value); 4] {
    [
        ("trading_name", json!(row.trading_name)),
        ("country", json!(row.country)),
        ("contact_name", json!(row.contact_name)),
        ("contact_phone", json!(row.contact_phone)),
    ]
}

/// Position on the waitlist, if the account is on it.
pub async fn waitlist_position(conn: &mut Conn, account: &OnboardingAccount) -> Result<Option<i64>, DbError> {
    match account.waitlist_ticket {
        Some(ticket) => store::waitlist_position(conn, ticket).await.map(Some),
        None => Ok(None),
    }
}

pub async fn my_waitlist(mut ctx: ReadCtx) -> Result<Json<MyWaitlistResponse>, Problem> {
    let account = ctx.principal()?.account_id;
    let row = store::find_account(&mut ctx, account).await?.ok_or_else(Problem::not_found)?;
    let position = waitlist_position(&mut ctx, &row).await?;
    let total = store::waitlist_total(&mut ctx).await?;
    Ok(Json(MyWaitlistResponse { position, total, status: row.beta_status }))
}

pub async fn traffic_profile(mut ctx: ReadCtx) -> Result<Json<TrafficProfileResponse>, Problem> {
    let account = ctx.principal()?.account_id;
    let profile = store::traffic_profile(&mut ctx, account).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(profile.into()))
}

pub async fn set_traffic_profile(
    ctx: RequestCtx,
    Body(request): Body<TrafficProfileRequest>,
) -> Result<Committed<Json<TrafficProfileResponse>>, Problem> {
    let account = ctx.principal()?.account_id;
    ctx.commit((account, request), |tx, (account, request)| {
        Box::pin(async move {
            require_active(tx, *account).await?;
            match store::traffic_profile(tx, *account).await? {
                Some(current) => tx.expect_version(&TrafficProfileResponse::from(current))?,
                None => tx.expect_no_version()?,
            }
            store::upsert_traffic_profile(tx, *account, request).await?;
            apply_event(tx, *account, Event::Profiled).await?;
            let saved = store::traffic_profile(tx, *account).await?.ok_or_else(Problem::not_found)?;
            Ok(Json(saved.into()))
        })
    })
    .await
}
