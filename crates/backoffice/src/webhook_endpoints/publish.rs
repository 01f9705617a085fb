//! Gives committed events their positions and creates their deliveries.
//!
//! The job runner calls [`publish`] before it looks for jobs: after every commit that recorded an event, and once a
//! second. One transaction of one node does it at a time, so positions are in the order in which they become visible.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::json;

use super::deliver;
use super::store::{self, DeliveryRow, EndpointId};
use crate::events::MAX_CALLS;
use db::{Conn, DbError};
use identity::events::{self, EventId, EventType, Head, PublishedEvent};
use platform::app::App;
use uuid::Uuid;
use values::{AccountId, Time};
use voice::cdrs;

/// Events published in one transaction, so that others do not wait long.
const MAX_PUBLISHED: i64 = 1000;
/// Ended calls become events this often.
const CALLS_INTERVAL: Duration = Duration::from_secs(5);
/// Events of ended calls in one transaction.
const MAX_CALL_EVENTS: i64 = 100;
/// Accounts whose ended calls are looked at in one transaction.
const MAX_ACCOUNTS: i64 = 200;

/// Publishes what was committed, and returns how many events that were.
pub async fn publish(app: &App) -> Result<usize, DbError> {
    if !is_needed(app).await? {
        return Ok(0);
    }
    let published = app.db.tx((), |conn, ()| Box::pin(publish_waiting(conn))).await?;
    if published > 0 {
        app.event_feed.announce();
    }
    Ok(published)
}

async fn is_needed(app: &App) -> Result<bool, DbError> {
    let mut reader = app.db.read().await?;
    if store::are_events_waiting(&mut reader).await? {
        return Ok(true);
    }
    Ok(cdrs::is_ended_waiting(&mut reader).await? && are_calls_due(events::head(&mut reader).await?, app.clock.now()))
}

/// Whether a sweep over the accounts with ended calls goes on or begins.
fn are_calls_due(head: Head, now: Time) -> bool {
    head.swept_through.is_some() || now.since(head.batched_at) >= CALLS_INTERVAL
}

async fn publish_waiting(conn: &mut Conn) -> Result<usize, DbError> {
    let before = events::lock_head(conn).await?;
    let mut head = before;
    if are_calls_due(head, conn.now()) {
        batch_calls(conn, &mut head).await?;
    }
    let published = events::publish(conn, head.position, MAX_PUBLISHED).await?;
    head.position = published.last().map_or(head.position, |event| event.position);
    events::set_head(conn, head).await?;
    create_deliveries(conn, &published, before.position, head.position).await?;
    if published.len() as i64 == MAX_PUBLISHED || head.swept_through.is_some() {
        // For the rest.
        conn.wake_job_runner();
    }
    Ok(published.len())
}

/// Puts ended calls into events: one sweep over the accounts every few seconds, of the calls that waited when it began,
/// so that no account with many calls makes the others wait. A sweep that is too long for one transaction goes on in the
/// next.
async fn batch_calls(conn: &mut Conn, head: &mut Head) -> Result<(), DbError> {
    if head.swept_through.is_none() {
        head.batched_at = conn.now();
    }
    let after = head.swept_through.take();
    let waiting = cdrs::waiting_ended(conn, after, head.batched_at, MAX_ACCOUNTS).await?;
    let (mut left, mut done) = (MAX_CALL_EVENTS, after.unwrap_or(AccountId::from(Uuid::nil())));
    for account in &waiting {
        let batches = (account.calls + MAX_CALLS - 1) / MAX_CALLS;
        for _ in 0..batches.min(left) {
            let event = events::record(conn, account.account_id, EventType::CallsEnded, &json!({})).await?;
            cdrs::assign_ended(conn, account.account_id, event.uuid(), head.batched_at, MAX_CALLS).await?;
        }
        if batches > left {
            head.swept_through = Some(done);
            return Ok(());
        }
        left -= batches;
        done = account.account_id;
    }
    if waiting.len() as i64 == MAX_ACCOUNTS {
        head.swept_through = Some(done);
    }
    Ok(())
}

/// Creates the deliveries of published events, and has them attempted.
async fn create_deliveries(
    conn: &mut Conn,
    published: &[PublishedEvent],
    after: i64,
    through: i64,
) -> Result<(), DbError> {
    if published.is_empty() {
        return Ok(());
    }
    let kinds: BTreeMap<EventId, EventType> = published.iter().map(|event| (event.id, event.kind)).collect();
    let mut deliveries = Vec::new();
    for (event, endpoint, selectors) in store::subscriptions(conn, after, through).await? {
        let kind = kinds.get(&event).filter(|kind| selectors.0.iter().any(|selector| selector.selects(**kind)));
        deliveries.extend(kind.map(|kind| DeliveryRow::new(conn, endpoint, event, *kind)));
    }
    for endpoint in store::enabled_of_team(conn).await? {
        let selected = published.iter().filter(|event| endpoint.selects(event.kind));
        deliveries.extend(selected.map(|event| DeliveryRow::new(conn, endpoint.id, event.id, event.kind)));
    }
    store::insert_deliveries(conn, &deliveries).await?;
    // In the order of their ids, so that two transactions do not wait for each other.
    let endpoints: BTreeSet<EndpointId> = deliveries.iter().map(|delivery| delivery.endpoint_id).collect();
    for endpoint in endpoints {
        deliver::enqueue(conn, endpoint).await?;
    }
    Ok(())
}
