//! What a prospect sees and says of itself.

use super::store::{self, Prospect};
use super::types::{MyAccountResponse, MyWaitlistResponse, TrafficProfileRequest, TrafficProfileResponse};
use super::{Event, happened, must_be_active, waitlist};
use crate::db::{Conn, DbError};
use crate::http::answer::Json;
use crate::http::call::{Call, Done, Read};
use crate::http::input::Body;
use crate::http::problem::Problem;
use crate::values::UnixSeconds;

pub async fn my_account(mut read: Read) -> Result<Json<MyAccountResponse>, Problem> {
    let account = read.principal()?.account_id;
    let prospect = store::prospect(&mut read, account).await?.ok_or_else(Problem::not_found)?;
    let waitlist_position = position(&mut read, &prospect).await?;
    Ok(Json(MyAccountResponse {
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
    }))
}

/// The prospect's place, if it waits.
pub async fn position(conn: &mut Conn, prospect: &Prospect) -> Result<Option<i64>, DbError> {
    match prospect.waitlist_ticket {
        Some(ticket) => waitlist::position(conn, ticket).await.map(Some),
        None => Ok(None),
    }
}

pub async fn my_waitlist(mut read: Read) -> Result<Json<MyWaitlistResponse>, Problem> {
    let account = read.principal()?.account_id;
    let prospect = store::prospect(&mut read, account).await?.ok_or_else(Problem::not_found)?;
    let position = position(&mut read, &prospect).await?;
    let total = waitlist::total(&mut read).await?;
    Ok(Json(MyWaitlistResponse { position, total, status: prospect.beta_status }))
}

pub async fn traffic_profile(mut read: Read) -> Result<Json<TrafficProfileResponse>, Problem> {
    let account = read.principal()?.account_id;
    let profile = store::traffic_profile(&mut read, account).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(profile.into()))
}

pub async fn put_traffic_profile(
    call: Call,
    Body(request): Body<TrafficProfileRequest>,
) -> Result<Done<Json<TrafficProfileResponse>>, Problem> {
    let account = call.principal()?.account_id;
    call.commit((account, request), |tx, (account, request)| {
        Box::pin(async move {
            let now = tx.call.now;
            must_be_active(tx, *account).await?;
            let current = store::traffic_profile(tx, *account).await?.map(TrafficProfileResponse::from);
            tx.expect_version(&current)?;
            store::keep_traffic_profile(tx, *account, request, now).await?;
            happened(tx, *account, Event::Profiled, now).await?;
            let kept = store::traffic_profile(tx, *account).await?.ok_or_else(Problem::not_found)?;
            Ok(Json(kept.into()))
        })
    })
    .await
}
