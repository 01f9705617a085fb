//! `GET /events/stream`: events as they are published, as server-sent events.
//!
//! A stream remembers the last position it has sent. What the node's feed hands out continues there, or else the stream
//! is behind and reads the events itself; so it has no gap, whichever node it was on before. It ends with its token, when
//! that is revoked, or when the node drains. It takes no place among the running requests.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::stream;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio::time::{Instant, Interval, MissedTickBehavior};
use uuid::Uuid;

use super::Audience;
use super::feed::frame;
use super::types::{AdminEvent, Event};
use api::answer::EventStream;
use api::auth::{self, Principal};
use api::context::{ReadCtx, RequestCtx};
use api::input::{LastEventId, unknown_event};
use api::problem::Problem;
use db::{Conn, DbError};
use identity::events::{self, EventFilter, EventId};
use platform::event_feed::{FeedBatch, StreamPlace};
use values::Time;

/// How often a stream says that it is alive, and checks its token.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How old the last check of the token may be when events are sent.
const MAX_CHECK_AGE: Duration = Duration::from_secs(5);
/// Events that a stream reads at once while it is behind.
const PAGE: i64 = 200;
/// Seconds after which a user with too many streams may try again.
const RETRY_AFTER: u64 = 15;

pub async fn stream(mut ctx: ReadCtx, last: LastEventId<EventId>) -> Result<EventStream, Problem> {
    let audience = Audience::Account(ctx.principal()?.account_id);
    let start = start(&mut ctx, audience, last).await?;
    open(ctx, audience, start).await
}

pub async fn team_stream(mut ctx: ReadCtx, last: LastEventId<EventId>) -> Result<EventStream, Problem> {
    let start = start(&mut ctx, Audience::Team, last).await?;
    open(ctx, Audience::Team, start).await
}

/// Where a stream begins.
struct Start {
    /// The last event before it. A caller that loses the connection before any event resumes with this one.
    after: EventId,
    position: i64,
}

/// Stands for the time before the first event, in place of an event's id.
const BEFORE_ALL: EventId = EventId::new(Uuid::nil());

/// After the event that the caller has seen, or now.
async fn start(conn: &mut Conn, audience: Audience, last: LastEventId<EventId>) -> Result<Start, Problem> {
    match last {
        LastEventId(None) => {
            let position = events::head(conn).await?.position;
            let newest = events::newest(conn, audience.account(), position).await?;
            Ok(Start { after: newest.unwrap_or(BEFORE_ALL), position })
        }
        LastEventId(Some(BEFORE_ALL)) => Ok(Start { after: BEFORE_ALL, position: 0 }),
        LastEventId(Some(after)) => {
            let found = events::find(conn, audience.account(), after).await?;
            let position = found.and_then(|event| event.position).ok_or_else(unknown_event)?;
            Ok(Start { after, position })
        }
    }
}

async fn open(mut ctx: ReadCtx, audience: Audience, Start { after, position }: Start) -> Result<EventStream, Problem> {
    let caller = ctx.principal()?.clone();
    let expired = || Problem::token_expired("The access token has expired. Refresh it with POST /v1/auth/refresh.");
    let expires_at = auth::valid_until(&mut ctx, &caller).await?.ok_or_else(expired)?;
    let checked_at = ctx.now();
    let ReadCtx { conn, request } = ctx;
    drop(conn);
    let feed = &request.app.event_feed;
    let place = feed.enter(caller.person()).ok_or_else(|| Problem::rate_limited(RETRY_AFTER))?;
    let mut heartbeat = tokio::time::interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (batches, closing) = (feed.subscribe(), feed.closing());
    let follower = Follower {
        request,
        caller,
        audience,
        position,
        is_behind: true,
        batches,
        closing,
        expires_at,
        checked_at,
        heartbeat,
        _place: place,
    };
    // Sent at once, so that the caller sees that it is connected.
    let greeting = stream::iter([Ok(Bytes::from(format!("retry: 2000\nid: {after}\n\n")))]);
    let following = stream::unfold(follower, async |mut follower| {
        let sent = follower.next().await?;
        Some((Ok::<_, io::Error>(sent), follower))
    });
    Ok(EventStream(greeting.chain(following).boxed()))
}

/// An open stream.
struct Follower {
    request: RequestCtx,
    caller: Principal,
    audience: Audience,
    /// The last position that was sent, or that had nothing for this audience.
    position: i64,
    /// Whether events after the position must be read from the database.
    is_behind: bool,
    batches: broadcast::Receiver<Arc<FeedBatch>>,
    closing: watch::Receiver<bool>,
    expires_at: Time,
    checked_at: Time,
    heartbeat: Interval,
    _place: StreamPlace,
}

/// What a stream waits for.
enum Wake {
    Closing,
    Batch(Result<Arc<FeedBatch>, RecvError>),
    Heartbeat,
}

async fn is_true(watched: &mut watch::Receiver<bool>) {
    // An error means that the feed is gone, which ends streams too.
    let _ = watched.wait_for(|value| *value).await;
}

impl Follower {
    /// What is sent next; none when the stream ends.
    async fn next(&mut self) -> Option<Bytes> {
        let sent = self.wait().await?;
        let age = self.request.app.clock.now().since(self.checked_at);
        (age < MAX_CHECK_AGE || self.is_token_valid().await).then_some(sent)
    }

    async fn wait(&mut self) -> Option<Bytes> {
        loop {
            if *self.closing.borrow() || self.request.app.clock.now() >= self.expires_at {
                return None;
            }
            if self.is_behind {
                match self.catch_up().await {
                    Ok(Some(events)) => return Some(events),
                    Ok(None) => continue,
                    Err(error) => {
                        // The caller reconnects and resumes.
                        tracing::warn!(%error, "reading events of a stream failed");
                        return None;
                    }
                }
            }
            match self.wake().await {
                Wake::Closing => return None,
                Wake::Batch(Ok(batch)) => {
                    if let Some(events) = self.take(&batch) {
                        return Some(events);
                    }
                }
                Wake::Batch(Err(RecvError::Lagged(_))) => self.is_behind = true,
                Wake::Batch(Err(RecvError::Closed)) => return None,
                Wake::Heartbeat => return Some(Bytes::from_static(b":\n\n")),
            }
        }
    }

    async fn wake(&mut self) -> Wake {
        tokio::select! {
            () = is_true(&mut self.closing) => Wake::Closing,
            batch = self.batches.recv() => Wake::Batch(batch),
            _ = self.heartbeat.tick() => Wake::Heartbeat,
        }
    }

    /// The events of a batch that this stream sends.
    fn take(&mut self, batch: &FeedBatch) -> Option<Bytes> {
        if batch.through <= self.position || self.request.app.clock.now() >= self.expires_at {
            return None;
        }
        if batch.after > self.position {
            self.is_behind = true;
            return None;
        }
        let mut sent = BytesMut::new();
        for event in batch.events.iter().filter(|event| event.position > self.position) {
            match self.audience {
                Audience::Team => sent.extend_from_slice(&event.for_team),
                Audience::Account(account) if account == event.account => sent.extend_from_slice(&event.for_customer),
                Audience::Account(_) => {}
            }
        }
        self.position = batch.through;
        Some(sent.freeze()).filter(|sent| !sent.is_empty())
    }

    /// Reads events after the position; none once there are no more.
    async fn catch_up(&mut self) -> Result<Option<Bytes>, DbError> {
        let mut reader = self.request.app.db.read().await?;
        // Read first: all events up to it are visible.
        let head = events::head(&mut reader).await?.position;
        let filter = EventFilter { account: self.audience.account(), ..EventFilter::default() };
        let rows = events::list(&mut reader, &filter, self.position, head, PAGE).await?;
        drop(reader);
        let is_full = rows.len() as i64 == PAGE;
        let last = rows.last().and_then(|row| row.position).filter(|_| is_full);
        self.position = last.unwrap_or(head.max(self.position));
        self.is_behind = is_full;
        let mut sent = BytesMut::new();
        for row in &rows {
            sent.extend_from_slice(&match self.audience {
                Audience::Team => frame(row, &AdminEvent::from(row.clone())),
                Audience::Account(_) => frame(row, &Event::from(row.clone())),
            });
        }
        Ok(Some(sent.freeze()).filter(|sent| !sent.is_empty()))
    }

    /// False once the token has expired or was revoked. A database that does not answer ends no stream.
    async fn is_token_valid(&mut self) -> bool {
        let Ok(mut reader) = self.request.app.db.read().await else { return true };
        self.checked_at = reader.now();
        auth::valid_until(&mut reader, &self.caller).await.map_or(true, |until| until.is_some())
    }
}
