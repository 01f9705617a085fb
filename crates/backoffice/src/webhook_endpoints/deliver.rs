//! The job of an endpoint: attempts the deliveries that are due, a few at a time.
//!
//! There is one job for an endpoint on all nodes. It ends when an attempt was slow, and queues behind the jobs of other
//! endpoints, so an endpoint that hangs delays no other. A crash between an attempt and its record repeats the attempt,
//! with the same `webhook-id`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::task::{JoinError, JoinSet};
use tracing::Instrument;

use super::rules;
use super::secret;
use super::store::{self, DeliveryRow, EndpointId, EndpointRow};
use super::types::{DeliveryStatus, DisabledReason, WebhookAttempt};
use crate::events::body;
use db::{Conn, DbError, Entropy};
use identity::accounts;
use identity::events;
use identity::notifications::{WebhookDisabled, notify};
use platform::app::App;
use platform::jobs::{self, Class, JobContext, JobError, Kind};
use platform::mail::{self, Recipient};
use platform::outside::fetch::{FetchError, Posted, Target};
use values::{Rfc3339, Time, WebUrl};

/// It ends after each round, so attempts count crashes only.
pub const DELIVER: Kind = Kind::new("webhooks.deliver").attempts(1000).class(Class::Webhooks);

/// Attempts of one endpoint that run at the same time.
const CONCURRENCY: usize = 4;
/// Deliveries that share one resolution of the endpoint's host.
const ROUND: i64 = 50;
/// A job ends after this time, so that others get its slot.
const MAX_RUN: Duration = Duration::from_secs(20);
const TIMEOUT: Duration = Duration::from_secs(15);
/// An attempt that takes longer ends the job.
const SLOW: Duration = Duration::from_secs(5);
/// Attempts that are kept.
const MAX_ATTEMPTS: usize = 20;
const MAX_ERROR_CHARS: usize = 300;
const GONE: i64 = 410;
const USER_AGENT: &str = concat!("Trunkline/", env!("CARGO_PKG_VERSION"));

#[derive(Serialize, Deserialize)]
struct Payload {
    endpoint: EndpointId,
}

/// Has what is due for an endpoint delivered after the commit.
pub async fn enqueue(conn: &mut Conn, endpoint: EndpointId) -> Result<(), DbError> {
    let now = conn.now();
    enqueue_by(conn, endpoint, now).await
}

async fn enqueue_by(conn: &mut Conn, endpoint: EndpointId, at: Time) -> Result<(), DbError> {
    jobs::enqueue_once_by(conn, DELIVER, &endpoint.to_string(), json!(Payload { endpoint }), at).await
}

pub async fn deliver_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let Payload { endpoint: id } =
        serde_json::from_value(payload).map_err(|error| JobError::Permanent(error.to_string()))?;
    let until = Instant::now() + MAX_RUN;
    loop {
        let mut reader = context.db.read().await?;
        let Some(endpoint) = store::find_enabled(&mut reader, id).await? else { break };
        let due = store::due(&mut reader, id, ROUND).await?;
        drop(reader);
        if due.is_empty() {
            break;
        }
        let target = context.app.fetcher.target(&endpoint.url).await;
        let round =
            Round { app: context.app.clone(), url: endpoint.url, target, until, was_slow: AtomicBool::new(false) };
        let round = Arc::new(round);
        Round::run(&round, due).await?;
        if round.is_over() {
            break;
        }
    }
    context.db.tx((context.clone(), id), |conn, (context, id)| Box::pin(finish(conn, context, *id))).await
}

/// Ends the job and enqueues the next, for when a delivery is due, behind those that wait already. After the end of the
/// job nothing can be missed: who adds a delivery waits for this transaction, and then finds no job.
async fn finish(conn: &mut Conn, context: &JobContext<App>, id: EndpointId) -> Result<(), JobError> {
    context.finish_in(conn).await?;
    if store::find_enabled(conn, id).await?.is_some()
        && let Some(next) = store::next_due(conn, id).await?
    {
        enqueue_by(conn, id, next.max(conn.now())).await?;
    }
    Ok(())
}

/// Deliveries to one endpoint with one resolution of its host.
struct Round {
    app: App,
    url: WebUrl,
    target: Result<Target, FetchError>,
    until: Instant,
    was_slow: AtomicBool,
}

impl Round {
    /// Attempts these deliveries, each in a task of its own: one that reads the database must not stop the others.
    async fn run(round: &Arc<Round>, due: Vec<DeliveryRow>) -> Result<(), JobError> {
        let mut running = JoinSet::new();
        for delivery in due {
            if running.len() >= CONCURRENCY {
                ended(running.join_next().await)?;
            }
            if round.is_over() {
                break;
            }
            let round = Arc::clone(round);
            running.spawn(async move { round.attempt(delivery).await }.in_current_span());
        }
        while !running.is_empty() {
            ended(running.join_next().await)?;
        }
        Ok(())
    }

    /// Whether no more attempts begin.
    fn is_over(&self) -> bool {
        self.was_slow.load(Ordering::Relaxed) || Instant::now() >= self.until
    }

    async fn attempt(&self, delivery: DeliveryRow) -> Result<(), JobError> {
        let mut reader = self.app.db.read().await?;
        // It may have been disabled, deleted or changed since the round began.
        let endpoint = store::find_enabled(&mut reader, delivery.endpoint_id).await?;
        let Some(endpoint) = endpoint.filter(|endpoint| endpoint.url == self.url) else { return Ok(()) };
        let event = events::find(&mut reader, None, delivery.event_id).await?;
        let body = match event {
            Some(event) => Some(body(&mut reader, event, endpoint.is_team).await?),
            None => None,
        };
        drop(reader);
        let (at, started) = (self.app.clock.now(), Instant::now());
        let (attempt, is_final) = match body {
            Some(body) => (self.post(&endpoint, &delivery, body, at).await, false),
            None => (Err(FetchError("the event has expired".into())), true),
        };
        let duration = started.elapsed();
        self.was_slow.fetch_or(duration >= SLOW, Ordering::Relaxed);
        let duration_ms = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        let attempt = summary(attempt, at, duration_ms);
        let result = AttemptResult { app: self.app.clone(), endpoint, delivery, attempt, is_final };
        Ok(self.app.db.tx(result, |conn, result| Box::pin(record(conn, result))).await?)
    }

    async fn post(
        &self,
        endpoint: &EndpointRow,
        delivery: &DeliveryRow,
        body: Bytes,
        now: Time,
    ) -> Result<Posted, FetchError> {
        let target = self.target.as_ref().map_err(|FetchError(reason)| FetchError(reason.clone()))?;
        let id = delivery.event_id.to_string();
        let signature = secret::signatures(&self.app.keys, endpoint, &id, now, &body)
            .ok_or_else(|| FetchError("the secret of the endpoint cannot be opened: rotate it".into()))?;
        let headers = [
            ("user-agent", USER_AGENT.to_owned()),
            ("webhook-id", id),
            ("webhook-timestamp", now.seconds().to_string()),
            ("webhook-signature", signature),
        ];
        target.post(&headers, body, TIMEOUT).await
    }
}

/// The outcome of a task that has ended, if there was one.
fn ended(task: Option<Result<Result<(), JobError>, JoinError>>) -> Result<(), JobError> {
    task.unwrap_or(Ok(Ok(()))).unwrap_or_else(|error| Err(JobError::Failed(error.to_string())))
}

fn summary(posted: Result<Posted, FetchError>, at: Time, duration_ms: i64) -> WebhookAttempt {
    let (status_code, error, response_excerpt) = match posted {
        Ok(Posted { status, excerpt }) => {
            let error = match status {
                status if status.is_success() => None,
                status if status.is_redirection() => Some("redirects are not followed".to_owned()),
                status => Some(format!("the server responded {}", status.as_u16())),
            };
            (Some(i64::from(status.as_u16())), error, Some(excerpt).filter(|excerpt| !excerpt.is_empty()))
        }
        Err(FetchError(reason)) => (None, Some(reason), None),
    };
    let error = error.map(|error| error.chars().filter(|c| !c.is_control()).take(MAX_ERROR_CHARS).collect());
    WebhookAttempt { at: Rfc3339(at), status_code, duration_ms, error, response_excerpt }
}

struct AttemptResult {
    app: App,
    endpoint: EndpointRow,
    /// As it was before the attempt.
    delivery: DeliveryRow,
    attempt: WebhookAttempt,
    /// Whether another attempt cannot succeed.
    is_final: bool,
}

/// Records an attempt: the delivery is done, or due again, or has failed.
async fn record(conn: &mut Conn, result: &AttemptResult) -> Result<(), DbError> {
    let now = conn.now();
    let endpoint = &result.endpoint;
    let Some(mut delivery) = store::lock_delivery(conn, result.delivery.id).await? else { return Ok(()) };
    delivery.attempts.0.push(result.attempt.clone());
    let excess = delivery.attempts.0.len().saturating_sub(MAX_ATTEMPTS);
    delivery.attempts.0.drain(..excess);
    delivery.tries += 1;
    // Who answered may not be whom the endpoint names by now.
    let is_current = store::find_enabled(conn, endpoint.id).await?.is_some_and(|now| now.url == endpoint.url);
    let is_gone = is_current && result.attempt.status_code == Some(GONE);
    if result.attempt.error.is_none() {
        (delivery.status, delivery.next_attempt_at) = (DeliveryStatus::Delivered, None);
    } else {
        let random = u32::from_le_bytes(Entropy.bytes());
        let again = rules::retry_at(delivery.tries, now, random).filter(|_| !is_gone && !result.is_final);
        delivery.next_attempt_at = again;
        delivery.status = if again.is_some() { DeliveryStatus::Pending } else { DeliveryStatus::Failed };
    }
    store::update_delivery(conn, &delivery).await?;
    if delivery.status == DeliveryStatus::Delivered {
        return store::end_failures(conn, endpoint.id).await;
    }
    if result.is_final || !is_current {
        return Ok(());
    }
    let failing_since = store::mark_failing(conn, endpoint.id).await?;
    if is_gone {
        disable(conn, &result.app, endpoint, DisabledReason::Gone).await
    } else if rules::is_hopeless(failing_since, now) {
        disable(conn, &result.app, endpoint, DisabledReason::Failing).await
    } else if store::next_due(conn, endpoint.id).await?.is_none() {
        // Nothing is due any more, so from now on it does not fail.
        store::end_failures(conn, endpoint.id).await
    } else {
        Ok(())
    }
}

/// Disables an endpoint and tells its owner, once.
async fn disable(conn: &mut Conn, app: &App, endpoint: &EndpointRow, reason: DisabledReason) -> Result<(), DbError> {
    if !store::disable(conn, endpoint.id, &endpoint.url, reason).await? {
        return Ok(());
    }
    let url = endpoint.url.to_string();
    let notification =
        WebhookDisabled { webhook_endpoint_id: endpoint.id.uuid(), url: url.clone(), reason: reason.to_string() };
    notify(conn, endpoint.account_id, &notification).await?;
    if let Some(contact) = accounts::contact(conn, endpoint.account_id).await? {
        let to = Recipient::new(&contact.contact_email, &contact.contact_name);
        let is_gone = reason == DisabledReason::Gone;
        let endpoint = url.trim_start_matches("https://").to_owned();
        mail::send(conn, app, &to, &mail::WebhookDisabled { endpoint, is_gone }).await?;
    }
    Ok(())
}
