//! Audited writes of a few clients while checkpoints follow each other, and imported CDRs give them something to write.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::fixture::{Fixture, post_cdrs, request};
use super::ingest::{BATCH, MAX_AGE_MILLIS, ndjson};
use super::writes::Writer;
use crate::http::Client;
use crate::report::{Limit, Line, Spread};
use crate::{Outcome, ROUNDS};

const CLIENTS: usize = 8;
const ROUND: Duration = Duration::from_secs(2);
/// Between two writes of a client, and two checkpoints: waiting for a processor is not what is measured.
const PAUSE: Duration = Duration::from_millis(10);
/// Between two batches of CDRs: 4,000 a second.
const BATCH_INTERVAL: Duration = Duration::from_millis(250);
const MAX_MILLIS: f64 = 50.0;

pub async fn measure(fixture: &Fixture, writers: &[Writer]) -> Outcome<Line> {
    // Calls must start after the rate deck came into force.
    sleep(Duration::from_millis(MAX_AGE_MILLIS)).await;
    let (mut p99s, mut checkpoints, mut next) = (Vec::new(), 0, 0);
    for _ in 0..ROUNDS {
        let until = Instant::now() + ROUND;
        let import = Box::pin(import(fixture, until, &mut next));
        let (p99, done, ()) = tokio::try_join!(write(fixture, writers, until), checkpoint(fixture, until), import)?;
        p99s.push(p99);
        checkpoints += done;
    }
    let (p99, engine) = (Spread::of(p99s), fixture.store.engine());
    let what = format!("p99 of an audited write during checkpoints, 8 clients and 4,000 CDRs/s, {engine}");
    let limit = Limit::AtMost(MAX_MILLIS, " ms");
    let line = Line::alone(what, p99.text(1, " ms"), format!("{checkpoints} checkpoints"), p99.median, limit);
    Ok(line.spread(p99).id(format!("checkpoint-p99-{}", fixture.store.id())))
}

/// The 99th percentile of the writes in milliseconds.
async fn write(fixture: &Fixture, writers: &[Writer], until: Instant) -> Outcome<f64> {
    let mut tasks = JoinSet::new();
    for Writer { path, token } in writers.iter().take(CLIENTS) {
        let mut client = Client::connect(fixture.service.public).await?;
        let (path, token) = (path.clone(), token.clone());
        tasks.spawn(async move {
            let mut millis = Vec::new();
            while Instant::now() < until {
                let body = json!({"name": format!("Name {}", millis.len())});
                let sent = Instant::now();
                let response = client.send(&request("PATCH", &path, &token, &body)).await?;
                millis.push(sent.elapsed().as_secs_f64() * 1000.0);
                if response.status != 200 {
                    return Err(format!("{}: {}", response.status, String::from_utf8_lossy(&response.body)).into());
                }
                sleep(PAUSE).await;
            }
            Outcome::Ok(millis)
        });
    }
    let mut millis = tasks.join_all().await.into_iter().collect::<Outcome<Vec<_>>>()?.concat();
    millis.sort_by(f64::total_cmp);
    Ok(millis.get(millis.len() * 99 / 100).copied().unwrap_or(f64::NAN))
}

/// Returns how many checkpoints there were.
async fn checkpoint(fixture: &Fixture, until: Instant) -> Outcome<usize> {
    let mut done = 0;
    while Instant::now() < until {
        fixture.store.checkpoint().await?;
        done += 1;
        sleep(PAUSE).await;
    }
    Ok(done)
}

async fn import(fixture: &Fixture, until: Instant, next: &mut i64) -> Outcome<()> {
    let (authorization, trunks) = (fixture.service.switch_authorization()?, fixture.trunks());
    let (mut client, mut ticks) = (Client::connect(fixture.service.ops).await?, interval(BATCH_INTERVAL));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while Instant::now() < until {
        let response = client.send(&post_cdrs(&authorization, &ndjson(&trunks, next)?)).await?;
        let result: Value = serde_json::from_slice(&response.body)?;
        if result["accepted"] != BATCH {
            return Err(format!("{}: {result}", response.status).into());
        }
        ticks.tick().await;
    }
    Ok(())
}
