//! `/admin/inbox`: how much waits for the team, and since when. Each count stops at [`MAX_COUNT`], so none reads a long
//! list.

use schemars::JsonSchema;
use serde::Serialize;

use api::answer::Json;
use api::context::ReadCtx;
use api::problem::Problem;
use db::{Conn, DbError, params, row, sql};
use identity::onboarding::{self, AccountStatus};
use platform::routing::quality;
use values::{Rfc3339, Time};
use voice::cdrs;

/// Where counting stops.
const MAX_COUNT: i64 = 1000;

/// How much waits for the team; counts stop at 1000.
#[derive(Serialize, JsonSchema)]
pub struct Inbox {
    /// Tickets that wait for a reply of the team.
    pub tickets: i64,
    /// KYB intakes that are submitted or under review.
    pub kyb: i64,
    /// Other compliance intakes that are submitted or under review.
    pub intakes: i64,
    /// Accounts on the waitlist of the private beta.
    pub waitlist: i64,
    /// Customers in dunning.
    pub dunning: i64,
    /// Active upstreams that do not respond.
    pub upstreams_down: i64,
    /// Circuit breakers of routes that are open.
    pub open_breakers: i64,
    /// Upstreams whose newest rate deck import failed, and those whose newest DID import did.
    pub failed_imports: i64,
    /// Rate deck imports that are held and wait for a decision.
    pub held_imports: i64,
    /// Upstreams whose newest deck mail was refused, and one more while the deck mailbox cannot be read.
    pub deck_mails: i64,
    /// Jobs that failed too often.
    pub dead_jobs: i64,
    /// Imported CDRs that cannot be rated.
    pub suspense: i64,
    /// Since when the oldest of each queue waits.
    pub oldest: OldestWaiting,
}

/// Since when the oldest of each queue waits, among those that are counted; null if nothing does.
#[derive(Serialize, JsonSchema)]
pub struct OldestWaiting {
    /// When the ticket that waits longest for a reply was last updated (RFC 3339, UTC).
    pub tickets: Option<Rfc3339>,
    /// When the oldest KYB intake was submitted (RFC 3339, UTC).
    pub kyb: Option<Rfc3339>,
    /// When the oldest of the other compliance intakes was submitted (RFC 3339, UTC).
    pub intakes: Option<Rfc3339>,
    /// When the first account of the waitlist joined it (RFC 3339, UTC).
    pub waitlist: Option<Rfc3339>,
    /// Since when a customer is in dunning, at the earliest (RFC 3339, UTC).
    pub dunning: Option<Rfc3339>,
}

pub async fn show(mut ctx: ReadCtx) -> Result<Json<Inbox>, Problem> {
    let counts = counts(&mut ctx).await?;
    let has_mailbox = ctx.request.app.settings.deck_mail.is_some();
    let beta = onboarding::beta_counts(&mut ctx).await?;
    let waiting = beta.iter().filter(|(status, _)| *status == AccountStatus::BetaWaitlist);
    Ok(Json(Inbox {
        tickets: counts.tickets,
        kyb: counts.kyb,
        intakes: counts.intakes,
        waitlist: waiting.map(|(_, accounts)| *accounts).sum::<i64>().min(MAX_COUNT),
        dunning: counts.dunning,
        upstreams_down: counts.upstreams_down,
        open_breakers: quality::count_open(&mut ctx, MAX_COUNT).await?,
        failed_imports: counts.failed_deck_imports + counts.failed_number_imports,
        held_imports: counts.held_imports,
        deck_mails: counts.refused_deck_mails + if has_mailbox { counts.failed_mailboxes } else { 0 },
        dead_jobs: counts.dead_jobs,
        suspense: cdrs::count_suspended(&mut ctx).await?.min(MAX_COUNT),
        oldest: oldest(&mut ctx).await?.into(),
    }))
}

row! {
    struct Counts {
        tickets: i64,
        kyb: i64,
        intakes: i64,
        dunning: i64,
        upstreams_down: i64,
        failed_deck_imports: i64,
        failed_number_imports: i64,
        held_imports: i64,
        refused_deck_mails: i64,
        failed_mailboxes: i64,
        dead_jobs: i64,
    }
}

async fn counts(conn: &mut Conn) -> Result<Counts, DbError> {
    conn.one(
        sql!(
            "SELECT
                 (SELECT COUNT(*) FROM (SELECT id FROM tickets WHERE status IN ('open', 'pending_team') LIMIT $1) AS one),
                 (SELECT COUNT(*) FROM (SELECT id FROM intakes WHERE purpose = 'kyb'
                                        AND status IN ('submitted', 'under_review') LIMIT $1) AS one),
                 (SELECT COUNT(*) FROM (SELECT id FROM intakes WHERE purpose <> 'kyb'
                                        AND status IN ('submitted', 'under_review') LIMIT $1) AS one),
                 (SELECT COUNT(*) FROM (SELECT DISTINCT account_id FROM dunning_reasons LIMIT $1) AS one),
                 (SELECT COUNT(*) FROM (SELECT id FROM upstreams WHERE health = 'down' AND status = 'active'
                                        LIMIT $1) AS one),
                 (SELECT COUNT(*) FROM (SELECT id FROM upstreams u
                      WHERE (SELECT i.status FROM deck_imports i WHERE i.upstream_id = u.id AND NOT i.dry_run
                             ORDER BY i.created_at DESC, i.id DESC LIMIT 1) = 'failed' LIMIT $1) AS one),
                 (SELECT COUNT(*) FROM (SELECT id FROM upstreams u
                      WHERE (SELECT i.status FROM number_imports i WHERE i.upstream_id = u.id
                             ORDER BY i.created_at DESC, i.id DESC LIMIT 1) = 'failed' LIMIT $1) AS one),
                 (SELECT COUNT(*) FROM (SELECT id FROM deck_imports WHERE status = 'held' LIMIT $1) AS one),
                 (SELECT COUNT(*) FROM (SELECT id FROM upstreams u
                      WHERE (SELECT m.outcome FROM deck_mails m WHERE m.upstream_id = u.id AND m.outcome <> 'ignored'
                             ORDER BY m.created_at DESC, m.id DESC LIMIT 1) = 'refused' LIMIT $1) AS one),
                 (SELECT COUNT(*) FROM deck_mailbox WHERE failed_since IS NOT NULL),
                 (SELECT COUNT(*) FROM (SELECT id FROM jobs WHERE dead_at IS NOT NULL LIMIT $1) AS one)"
        ),
        params![MAX_COUNT],
    )
    .await
}

row! {
    struct Oldest {
        tickets: Option<Time>,
        kyb: Option<Time>,
        intakes: Option<Time>,
        waitlist: Option<Time>,
        dunning: Option<Time>,
    }
}

impl From<Oldest> for OldestWaiting {
    fn from(row: Oldest) -> Self {
        OldestWaiting {
            tickets: row.tickets.map(Rfc3339),
            kyb: row.kyb.map(Rfc3339),
            intakes: row.intakes.map(Rfc3339),
            waitlist: row.waitlist.map(Rfc3339),
            dunning: row.dunning.map(Rfc3339),
        }
    }
}

async fn oldest(conn: &mut Conn) -> Result<Oldest, DbError> {
    conn.one(
        sql!(
            "SELECT
                 (SELECT MIN(updated_at) FROM (SELECT updated_at FROM tickets WHERE status IN ('open', 'pending_team')
                                               LIMIT $1) AS one),
                 (SELECT MIN(submitted_at) FROM (SELECT submitted_at FROM intakes WHERE purpose = 'kyb'
                                                 AND status IN ('submitted', 'under_review') LIMIT $1) AS one),
                 (SELECT MIN(submitted_at) FROM (SELECT submitted_at FROM intakes WHERE purpose <> 'kyb'
                                                 AND status IN ('submitted', 'under_review') LIMIT $1) AS one),
                 (SELECT MIN(waitlist_joined_at) FROM (SELECT waitlist_joined_at FROM onboardings
                      WHERE beta_status = 'beta_waitlist' AND NOT is_carrier LIMIT $1) AS one),
                 (SELECT MIN(since) FROM (SELECT since FROM dunning_reasons LIMIT $1) AS one)"
        ),
        params![MAX_COUNT],
    )
    .await
}
