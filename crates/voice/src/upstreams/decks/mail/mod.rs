//! Decks by mail: upstreams send their rate decks to a mailbox, which is read every few minutes.
//!
//! Mail counts for the upstream that allows its sender; `rules` decides, without a database. What is attached is imported
//! as an upload would be, once for each message and file, so a crash before the mail is marked as seen repeats nothing.
//! A sender can be forged: unless the mail server vouches for it, its decks are held.
//!
//! - `message`: from bytes to a mail · `rules`: whose it is, and whether it is accepted
//! - `poll`: the job · `types`, `store`: policies, mails and the state of the mailbox

mod message;
mod poll;
mod rules;
mod store;
mod types;

pub use poll::{POLL, poll_job};
pub use store::purge;

use crate::upstreams;
use api::answer::{Json, NoContent};
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::{Body, Path};
use api::page::{Listing, NewestFirst, Page};
use api::problem::Problem;
use identity::names::Names;
use platform::outside::mailbox::MailboxSettings;
use types::{DeckMail, DeckMailFile, DeckMailFilters, DeckMailId, DeckMailOutcome};
use types::{DeckMailPolicy, DeckMailPolicyUpdate, DeckMailbox, MailboxKind};
use values::{Rfc3339, UpstreamId};

pub async fn show_policy(mut ctx: ReadCtx, Path(upstream): Path<UpstreamId>) -> Result<Json<DeckMailPolicy>, Problem> {
    let saved = store::policy(&mut ctx, upstream).await?;
    Ok(Json(saved.ok_or_else(Problem::not_found)?))
}

pub async fn save_policy(
    ctx: RequestCtx,
    Path(upstream): Path<UpstreamId>,
    Body(wanted): Body<DeckMailPolicyUpdate>,
) -> Result<Committed<Json<DeckMailPolicy>>, Problem> {
    ctx.audit_note("upstream_id", upstream.to_string());
    ctx.commit((upstream, DeckMailPolicy::from(wanted)), |tx, (upstream, wanted)| {
        Box::pin(async move {
            upstreams::lock(tx, *upstream).await?.ok_or_else(Problem::not_found)?;
            let before = store::policy(tx, *upstream).await?;
            tx.expect_version(&before)?;
            store::save_policy(tx, *upstream, wanted).await?;
            let ctx = tx.ctx;
            ctx.audit_note("from", serde_json::to_value(&before).unwrap_or_default());
            ctx.audit_note("to", serde_json::to_value(wanted).unwrap_or_default());
            Ok(Json(wanted.clone()))
        })
    })
    .await
}

pub async fn delete_policy(ctx: RequestCtx, Path(upstream): Path<UpstreamId>) -> Result<Committed<NoContent>, Problem> {
    ctx.audit_note("upstream_id", upstream.to_string());
    ctx.commit(upstream, |tx, upstream| {
        Box::pin(async move {
            if !store::delete_policy(tx, *upstream).await? {
                return Err(Problem::not_found());
            }
            Ok(NoContent)
        })
    })
    .await
}

/// The mails that were read, newest first.
pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<DeckMailFilters, NewestFirst<DeckMailId>>,
) -> Result<Page<DeckMail>, Problem> {
    let DeckMailFilters { upstream_id, outcome } = listing.filters;
    let (before, limit) = (listing.before(), listing.fetch());
    let rows = match upstream_id {
        Some(upstream) => store::list_of(&mut ctx, upstream, outcome, before, limit).await?,
        None => store::list(&mut ctx, outcome, before, limit).await?,
    };
    let names = Names::of_upstreams(&mut ctx, rows.iter().filter_map(|row| row.upstream_id)).await?;
    let mut mails = Vec::with_capacity(rows.len());
    for row in rows {
        let files = match row.outcome {
            DeckMailOutcome::Accepted => store::files(&mut ctx, row.id).await?,
            DeckMailOutcome::Ignored | DeckMailOutcome::Refused => Vec::new(),
        };
        let files: Vec<DeckMailFile> = files.into_iter().map(DeckMailFile::from).collect();
        mails.push((row, files));
    }
    listing.page(
        mails,
        |(row, _)| (row.created_at, row.id),
        |(row, files)| {
            let name = row.upstream_id.and_then(|id| names.get(id.uuid()));
            DeckMail::new(row, name, files)
        },
    )
}

/// The mailbox, and whether it can be read.
pub async fn show_mailbox(mut ctx: ReadCtx) -> Result<Json<DeckMailbox>, Problem> {
    let state = store::state(&mut ctx).await?;
    let settings = ctx.request.app.settings.deck_mail.as_ref();
    let is_set = settings.is_some();
    let kind = settings.map(|settings| match settings.mailbox {
        MailboxSettings::Maildir(_) => MailboxKind::Maildir,
        MailboxSettings::Imap(_) => MailboxKind::Imap,
    });
    Ok(Json(DeckMailbox {
        kind,
        verifies_senders: settings.is_some_and(|settings| settings.authserv.is_some()),
        polled_at: Some(state.polled_at).filter(|at| at.millis() > 0).map(Rfc3339),
        failed_since: state.failed_since.filter(|_| is_set).map(Rfc3339),
        failure: state.failure.filter(|_| is_set),
    }))
}
