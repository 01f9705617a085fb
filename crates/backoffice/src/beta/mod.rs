//! The beta queue: everyone who waits to be let in, and the team's decision.
//!
//! `GET /admin/beta` lists prospects with how far their papers are; approving one mails it a magic link.

mod store;
mod types;

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use api::answer::Json;
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{OptionalBody, Path};
use api::page::{Items, Listing};
use api::problem::Problem;
use billing::card_check;
use db::Conn;
use identity::balance::CURRENCY;
use identity::onboarding::{self, AccountStatus, Event, Prospect, happened};
use identity::{compliance, sessions, users};
use platform::ledger;
use platform::letters::{self, Addressee, Moment, SignupApproved, SignupDeclined};
use types::{
    AdminBetaAccount, AdminBetaActionRequest, AdminBetaDetail, AdminBetaKybIntake, AdminBetaListItem,
    AdminBetaPaymentMethod, AdminBetaStatsResponse, AdminBetaTrafficProfile,
};
use values::{AccountId, Time};

const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filters {
    /// Return accounts in this beta status only.
    #[serde(default)]
    status: Option<AccountStatus>,
}

pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<Filters, (i64, AccountId)>,
) -> Result<Items<AdminBetaListItem>, Problem> {
    let after = listing.after.map_or((Time::from_millis(i64::MAX), AccountId::new(uuid::Uuid::max())), |(at, id)| {
        (Time::from_millis(at), id)
    });
    let rows = store::list(&mut ctx, listing.filters.status, after, listing.fetch()).await?;
    listing.items(rows, |listed| (listed.created_at.millis(), listed.id), AdminBetaListItem::from)
}

pub async fn stats(mut ctx: ReadCtx) -> Result<Json<AdminBetaStatsResponse>, Problem> {
    let since = ctx.request.now.minus(WEEK);
    let counts = onboarding::counts(&mut ctx).await?;
    let sum = |admits: fn(AccountStatus) -> bool| counts.iter().filter(|(s, _)| admits(*s)).map(|(_, n)| n).sum();
    Ok(Json(AdminBetaStatsResponse {
        total: sum(|_| true),
        pending: sum(|status| {
            use AccountStatus::{BetaCardPending, BetaSignup, BetaWaitlist};
            matches!(status, BetaSignup | BetaCardPending | BetaWaitlist)
        }),
        approved_this_week: onboarding::approved_since(&mut ctx, since).await?,
        declined_this_week: onboarding::declined_since(&mut ctx, since).await?,
    }))
}

pub async fn detail(mut ctx: ReadCtx, Path(id): Path<AccountId>) -> Result<Json<AdminBetaDetail>, Problem> {
    Ok(Json(view(&mut ctx, id).await?))
}

async fn view(conn: &mut Conn, id: AccountId) -> Result<AdminBetaDetail, Problem> {
    let prospect = find(conn, id).await?;
    let position = onboarding::position(conn, &prospect).await?;
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
        kyb_intake: kyb_intake(conn, id).await?,
        payment_method: card_check::shown(conn, id).await?.map(AdminBetaPaymentMethod::from),
        user_emails,
    })
}

/// The prospect of this id. The carrier's own account is none.
async fn find(conn: &mut Conn, id: AccountId) -> Result<Prospect, Problem> {
    let prospect = onboarding::prospect(conn, id).await?;
    prospect.filter(|prospect| !prospect.is_carrier).ok_or_else(Problem::not_found)
}

async fn kyb_intake(conn: &mut Conn, id: AccountId) -> Result<Option<AdminBetaKybIntake>, Problem> {
    let Some(intake) = compliance::latest_kyb(conn, id).await? else { return Ok(None) };
    let documents = compliance::documents(conn, intake.id).await?;
    Ok(Some(AdminBetaKybIntake::new(intake, &documents)))
}

pub async fn approve(
    ctx: RequestCtx,
    Path(id): Path<AccountId>,
    OptionalBody(request): OptionalBody<AdminBetaActionRequest>,
) -> Result<Committed<Json<AdminBetaDetail>>, Problem> {
    ctx.about(id);
    ctx.commit((id, request), |tx, (id, request)| {
        Box::pin(async move {
            let prospect = decide(tx, *id, Event::Approved, request).await?;
            let (app, now) = (tx.ctx.app.clone(), tx.ctx.now);
            let user = users::find_by_email(tx, &prospect.contact_email).await?.ok_or_else(Problem::not_found)?;
            let link = sessions::issue_magic_link(tx, &app, user.id, now).await?;
            let (link, expires_at) = (link.url, Moment(link.expires_at));
            let told = SignupApproved { link, expires_at, note: note_of(request) };
            letters::send(tx, &app, &Addressee::new(&user.email, &user.name), &told, now).await?;
            // A balance that is to refill itself may do so from now on.
            ledger::enqueue_balance_check(tx, app.entropy, *id, CURRENCY, now).await?;
            Ok(Json(view(tx, *id).await?))
        })
    })
    .await
}

pub async fn decline(
    ctx: RequestCtx,
    Path(id): Path<AccountId>,
    OptionalBody(request): OptionalBody<AdminBetaActionRequest>,
) -> Result<Committed<Json<AdminBetaDetail>>, Problem> {
    ctx.about(id);
    ctx.commit((id, request), |tx, (id, request)| {
        Box::pin(async move {
            let prospect = decide(tx, *id, Event::Declined, request).await?;
            let (app, now) = (tx.ctx.app.clone(), tx.ctx.now);
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
    let now = tx.ctx.now;
    let prospect = find(tx, id).await?;
    happened(tx, id, event, now).await?;
    onboarding::set_reviewer_note(tx, id, request.reviewer_note.as_deref()).await?;
    Ok(prospect)
}
