//! The beta queue: everyone who waits to be let in, and the team's decision.
//!
//! `GET /admin/beta` lists prospects with how far their papers are; approving one mails it a magic link.

mod store;
mod types;

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::db::Conn;
use crate::features::letters::{self, Addressee, Moment, SignupApproved, SignupDeclined};
use crate::features::onboarding::{self, AccountStatus, Event, Prospect, happened};
use crate::features::{sessions, users};
use crate::http::answer::Json;
use crate::http::call::{Call, Done, Read, Tx};
use crate::http::input::{Body, Path};
use crate::http::page::{Items, Listing};
use crate::http::problem::Problem;
use crate::values::{AccountId, Time};
use store::Papers;
use types::{
    AdminBetaAccount, AdminBetaActionRequest, AdminBetaDetail, AdminBetaKybIntake, AdminBetaListItem,
    AdminBetaPaymentMethod, AdminBetaStatsResponse, AdminBetaTrafficProfile, CardColumn, KybColumn,
};

const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filters {
    #[serde(default)]
    status: Option<AccountStatus>,
}

pub async fn list(
    mut read: Read,
    listing: Listing<Filters, (i64, AccountId)>,
) -> Result<Items<AdminBetaListItem>, Problem> {
    let after = listing.after.map_or((Time::from_millis(i64::MAX), AccountId::new(uuid::Uuid::max())), |(at, id)| {
        (Time::from_millis(at), id)
    });
    let prospects = onboarding::prospects(&mut read, listing.filters.status, after, listing.fetch()).await?;
    let mut rows = Vec::with_capacity(prospects.len());
    for prospect in prospects {
        let papers = store::papers(&mut read, prospect.account_id).await?;
        let position = onboarding::position(&mut read, &prospect).await?;
        rows.push((prospect, papers, position));
    }
    listing.items(rows, |(prospect, ..)| (prospect.created_at.millis(), prospect.account_id), list_item)
}

fn list_item((prospect, papers, waitlist_position): (Prospect, Papers, Option<i64>)) -> AdminBetaListItem {
    AdminBetaListItem {
        id: prospect.account_id,
        legal_name: prospect.company_name,
        trading_name: prospect.trading_name,
        country: prospect.country,
        contact_email: prospect.contact_email,
        status: prospect.beta_status,
        waitlist_position,
        kyb_status: kyb_column(&papers),
        card_status: card_column(&papers),
        traffic_profile_present: papers.profiled,
        created_at: prospect.created_at.into(),
    }
}

fn kyb_column(papers: &Papers) -> KybColumn {
    match papers.kyb_status.as_deref() {
        None => KybColumn::None,
        Some("submitted" | "under_review") => KybColumn::Submitted,
        Some("approved") => KybColumn::Approved,
        Some("rejected") => KybColumn::Rejected,
        Some(_) => KybColumn::Open,
    }
}

fn card_column(papers: &Papers) -> CardColumn {
    papers.card_status.as_deref().and_then(|status| status.parse().ok()).unwrap_or(CardColumn::None)
}

pub async fn stats(mut read: Read) -> Result<Json<AdminBetaStatsResponse>, Problem> {
    let since = read.call.now.minus(WEEK);
    let counts = onboarding::counts(&mut read).await?;
    let sum = |admits: fn(AccountStatus) -> bool| counts.iter().filter(|(s, _)| admits(*s)).map(|(_, n)| n).sum();
    Ok(Json(AdminBetaStatsResponse {
        total: sum(|_| true),
        pending: sum(|status| {
            use AccountStatus::{BetaCardPending, BetaSignup, BetaWaitlist};
            matches!(status, BetaSignup | BetaCardPending | BetaWaitlist)
        }),
        approved_this_week: onboarding::decided_since(&mut read, AccountStatus::BetaApproved, since).await?,
        declined_this_week: onboarding::decided_since(&mut read, AccountStatus::BetaDeclined, since).await?,
    }))
}

pub async fn detail(mut read: Read, Path(id): Path<AccountId>) -> Result<Json<AdminBetaDetail>, Problem> {
    Ok(Json(view(&mut read, id).await?))
}

async fn view(conn: &mut Conn, id: AccountId) -> Result<AdminBetaDetail, Problem> {
    let prospect = onboarding::prospect(conn, id).await?.ok_or_else(Problem::not_found)?;
    let position = onboarding::position(conn, &prospect).await?;
    let papers = store::papers(conn, id).await?;
    let kyb_intake = kyb_intake(conn, id, &papers).await?;
    let traffic_profile = onboarding::traffic_profile_of(conn, id).await?.map(|profile| AdminBetaTrafficProfile {
        estimated_minutes_per_month: profile.estimated_minutes_per_month,
        target_countries: profile.target_countries.0,
        traffic_types: profile.traffic_types.0,
        notes: profile.notes,
    });
    let user_emails = store::user_emails(conn, id).await?.into_iter().map(|(email,)| email).collect();
    Ok(AdminBetaDetail {
        account: AdminBetaAccount::new(prospect, position),
        traffic_profile,
        kyb_intake,
        payment_method: papers.card_status.is_some().then(|| AdminBetaPaymentMethod {
            status: card_column(&papers),
            brand: papers.card_brand.clone(),
            last4: papers.card_last4.clone(),
        }),
        user_emails,
    })
}

async fn kyb_intake(conn: &mut Conn, id: AccountId, papers: &Papers) -> Result<Option<AdminBetaKybIntake>, Problem> {
    let Some(intake) = store::latest_kyb(conn, id).await? else { return Ok(None) };
    let uploaded = store::uploaded_kinds(conn, intake.id).await?;
    let required_docs: Vec<String> = intake.required_docs.split_whitespace().map(str::to_owned).collect();
    let uploaded_docs =
        required_docs.iter().filter(|kind| uploaded.iter().any(|(one,)| one == *kind)).cloned().collect();
    Ok(Some(AdminBetaKybIntake { id: intake.id, status: kyb_column(papers), required_docs, uploaded_docs }))
}

pub async fn approve(
    call: Call,
    Path(id): Path<AccountId>,
    Body(request): Body<AdminBetaActionRequest>,
) -> Result<Done<Json<AdminBetaDetail>>, Problem> {
    call.note("account", id.to_string());
    call.commit((id, request), |tx, (id, request)| {
        Box::pin(async move {
            let prospect = decide(tx, *id, Event::Approved, request).await?;
            let (app, now) = (tx.call.app.clone(), tx.call.now);
            let user = users::find_by_email(tx, &prospect.contact_email).await?.ok_or_else(Problem::not_found)?;
            let link = sessions::issue_magic_link(tx, &app, user.id, now).await?;
            let (link, expires_at) = (link.url, Moment(link.expires_at));
            let told = SignupApproved { link, expires_at, note: note_of(request) };
            letters::send(tx, &app, &Addressee::new(&user.email, &user.name), &told, now).await?;
            Ok(Json(view(tx, *id).await?))
        })
    })
    .await
}

pub async fn decline(
    call: Call,
    Path(id): Path<AccountId>,
    Body(request): Body<AdminBetaActionRequest>,
) -> Result<Done<Json<AdminBetaDetail>>, Problem> {
    call.note("account", id.to_string());
    call.commit((id, request), |tx, (id, request)| {
        Box::pin(async move {
            let prospect = decide(tx, *id, Event::Declined, request).await?;
            let (app, now) = (tx.call.app.clone(), tx.call.now);
            let to = Addressee::new(&prospect.contact_email, &prospect.contact_name);
            letters::send(tx, &app, &to, &SignupDeclined { note: note_of(request) }, now).await?;
            Ok(Json(view(tx, *id).await?))
        })
    })
    .await
}

/// The reviewer's own words, if there are any.
fn note_of(request: &AdminBetaActionRequest) -> Option<String> {
    request.reviewer_note.as_deref().filter(|note| !note.is_empty()).map(str::to_owned)
}

async fn decide(
    tx: &mut Tx<'_>,
    id: AccountId,
    event: Event,
    request: &AdminBetaActionRequest,
) -> Result<Prospect, Problem> {
    let now = tx.call.now;
    let prospect = onboarding::prospect(tx, id).await?.ok_or_else(Problem::not_found)?;
    happened(tx, id, event, now).await?;
    onboarding::set_reviewer_note(tx, id, request.reviewer_note.as_deref()).await?;
    Ok(prospect)
}
