//! Reads new events, once for all streams of this node.

use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use tokio::sync::watch;

use super::types::{AdminEvent, Event};
use db::DbError;
use identity::events::{self, EventFilter, EventRow};
use platform::app::App;
use platform::event_feed::{FeedBatch, FeedEvent};

/// How soon events of other nodes are read; those of this node are announced.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
const BATCH: i64 = 500;

/// Hands new events to the streams until the service stops. Without streams it reads nothing.
pub async fn read_events(app: App, mut stopping: watch::Receiver<bool>) {
    let mut seen = None;
    loop {
        if !app.event_feed.has_streams() {
            // Whoever opens a stream then reads what came before the next batch itself.
            seen = None;
        } else {
            match read_batch(&app, seen).await {
                Ok((through, is_full)) => {
                    seen = Some(through);
                    if is_full {
                        continue;
                    }
                }
                Err(error) => tracing::warn!(%error, "reading events failed, retrying"),
            }
        }
        tokio::select! {
            _ = stopping.wait_for(|stopping| *stopping) => break,
            () = app.event_feed.wait_for_news() => {}
            () = tokio::time::sleep(POLL_INTERVAL), if app.event_feed.has_streams() => {}
        }
    }
}

/// Sends the events after this position; returns the last position and whether there may be more.
async fn read_batch(app: &App, seen: Option<i64>) -> Result<(i64, bool), DbError> {
    let mut reader = app.db.read().await?;
    let head = events::head(&mut reader).await?.position;
    let after = seen.unwrap_or(head);
    if seen.is_none() {
        // A stream that has read less than this is behind.
        app.event_feed.send(FeedBatch { after, through: head, events: Vec::new() });
    }
    if head <= after {
        return Ok((after, false));
    }
    let rows = events::list(&mut reader, &EventFilter::default(), after, head, BATCH).await?;
    drop(reader);
    let is_full = rows.len() as i64 == BATCH;
    let last = rows.last().and_then(|row| row.position).filter(|_| is_full);
    let through = last.unwrap_or(head);
    app.event_feed.send(FeedBatch { after, through, events: rows.into_iter().map(feed_event).collect() });
    Ok((through, is_full))
}

fn feed_event(row: EventRow) -> FeedEvent {
    FeedEvent {
        account: row.account_id,
        position: row.position.unwrap_or_default(),
        for_customer: frame(&row, &Event::from(row.clone())),
        for_team: frame(&row, &AdminEvent::from(row.clone())),
    }
}

/// An event in the form of a stream: `id`, `event`, `data` and an empty line. JSON has no line breaks of its own.
pub fn frame(row: &EventRow, shown: &impl Serialize) -> Bytes {
    let data = serde_json::to_string(shown).unwrap_or_default();
    format!("id: {}\nevent: {}\ndata: {data}\n\n", row.id, row.kind).into()
}
