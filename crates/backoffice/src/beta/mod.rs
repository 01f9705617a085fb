//! The beta queue: signups for the private beta, and the team's decision about them.
//!
//! `GET /admin/beta` lists signups with the status of KYB, card and traffic profile. Approval sends a magic link.

mod store;
mod types;

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::customers::prefix_ranges;
use api::answer::Json;
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{OptionalBody, Path};
use api::page::{Items, Listing, NewestFirst};
use api::problem::Problem;
use billing::card_check;
use db::Conn;
use identity::balance::CURRENCY;
use identity::onboarding::{self, AccountStatus, Event, OnboardingAccount, apply_event};
use identity::{compliance, mailed_links, users};
use platform::ledger;
use platform::mail::{self, ReadableTime, Recipient, SignupApproved, SignupDeclined};
use types::{
    AdminBetaAccount, AdminBetaActionRequest, AdminBetaDetail, AdminBetaKybIntake, AdminBetaListItem,
    AdminBetaPaymentMethod, AdminBetaStatsResponse, AdminBetaTrafficProfile,
};
use values::{AccountId, Text};

const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filters {
    /// Return accounts in this beta status only.
    #[serde(default)]
    status: Option<AccountStatus>,
    /// Return accounts with a name or email address whose words begin like these; of a very common beginning, the first
    /// 1000 are looked at.
    #[serde(default)]
    q: Option<Text<1, 100>>,
}

pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<Filters, NewestFirst<AccountId>>,
) -> Result<Items<AdminBetaListItem>, Problem> {
    let Filters { status, q } = &listing.filters;
    let rows = match q.as_ref().map(|q| prefix_ranges(q)) {
        None => store::list(&mut ctx, *status, listing.before(), listing.fetch()).await?,
        Some(Some(ranges)) => store::with_words(&mut ctx, &ranges, *status, listing.before(), listing.fetch()).await?,
        // Nothing in the text is a word.
        Some(None) => Vec::new(),
    };
    listing.items(rows, |row| (row.created_at, row.id), AdminBetaListItem::from)
}

pub async fn stats(mut ctx: ReadCtx) -> Result<Json<AdminBetaStatsResponse>, Problem> {
    let since = ctx.request.now.minus(WEEK);
    let counts = onboarding::beta_counts(&mut ctx).await?;
    let sum = |includes: fn(AccountStatus) -> bool| counts.iter().filter(|(s, _)| includes(*s)).map(|(_, n)| n).sum();
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

pub async fn show(mut ctx: ReadCtx, Path(id): Path<AccountId>) -> Result<Json<AdminBetaDetail>, Problem> {
    Ok(Json(view(&mut ctx, id).await?))
}

async fn view(conn: &mut Conn, id: AccountId) -> Result<AdminBetaDetail, Problem> {
    let account = find(conn, id).await?;
    let position = onboarding::waitlist_position(conn, &account).await?;
    let traffic_profile = onboarding::find_traffic_profile(conn, id).await?.map(|profile| AdminBetaTrafficProfile {
        estimated_minutes_per_month: profile.estimated_minutes_per_month,
        target_countries: profile.target_countries.0,
        traffic_types: profile.traffic_types.0,
        notes: profile.notes,
    });
    let user_emails = store::user_emails(conn, id).await?.into_iter().map(|(email,)| email).collect();
    Ok(AdminBetaDetail {
        account: AdminBetaAccount::new(account, position),
        traffic_profile,
        kyb_intake: kyb_intake(conn, id).await?,
        payment_method: card_check::find_current(conn, id).await?.map(AdminBetaPaymentMethod::from),
        user_emails,
    })
}

/// The account, unless it is the operator's own.
async fn find(conn: &mut Conn, id: AccountId) -> Result<OnboardingAccount, Problem> {
    let account = onboarding::find_account(conn, id).await?;
    account.filter(|account| !account.is_carrier).ok_or_else(Problem::not_found)
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
    ctx.audit_account(id);
    ctx.commit((id, request), |tx, (id, request)| {
        Box::pin(async move {
            let account = decide(tx, *id, Event::Approved, request).await?;
            let app = tx.ctx.app.clone();
            onboarding::check_contact_verified(tx, &app, *id).await?;
            let user = users::find_by_email(tx, &account.contact_email).await?.ok_or_else(Problem::not_found)?;
            let link = mailed_links::issue_magic_link(tx, &app, user.id).await?;
            let (link, expires_at) = (link.url, ReadableTime(link.expires_at));
            let mail = SignupApproved { link, expires_at, note: note_of(request) };
            mail::send(tx, &app, &Recipient::new(&user.email, &user.name), &mail).await?;
            // Auto-recharge is possible from now on.
            ledger::enqueue_balance_check(tx, *id, CURRENCY).await?;
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
    ctx.audit_account(id);
    ctx.commit((id, request), |tx, (id, request)| {
        Box::pin(async move {
            let account = decide(tx, *id, Event::Declined, request).await?;
            let app = tx.ctx.app.clone();
            let to = Recipient::new(&account.contact_email, &account.contact_name);
            mail::send(tx, &app, &to, &SignupDeclined { note: note_of(request) }).await?;
            Ok(Json(view(tx, *id).await?))
        })
    })
    .await
}

/// The reviewer's note, unless it is empty.
fn note_of(request: &AdminBetaActionRequest) -> Option<String> {
    request.reviewer_note.as_deref().filter(|note| !note.is_empty()).map(str::to_owned)
}

async fn decide(
    tx: &mut Tx<'_>,
    id: AccountId,
    event: Event,
    request: &AdminBetaActionRequest,
) -> Result<OnboardingAccount, Problem> {
    let account = find(tx, id).await?;
    apply_event(tx, id, event).await?;
    onboarding::set_reviewer_note(tx, id, request.reviewer_note.as_deref()).await?;
    Ok(account)
}
