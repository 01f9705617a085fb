//! Events of upstreams: up or down.

use crate::calls::types::{Event, EventType};
use db::DbError;
use platform::app::App;
use platform::routing::upstreams::{self, UpstreamHealth};
use values::{Time, UpstreamId};

/// The health of an upstream, as a switch reports it.
pub struct HealthReport {
    upstream: UpstreamId,
    health: UpstreamHealth,
    at: Time,
}

pub fn is_of_upstream(kind: EventType) -> bool {
    matches!(kind, EventType::UpstreamUp | EventType::UpstreamDown)
}

pub async fn report(app: &App, event: &Event) -> Result<Result<HealthReport, String>, DbError> {
    let gateways = app.gateways.current(&app.db).await?;
    let by_group = |group| gateways.all().iter().find(|upstream| upstream.dispatcher_group_id == group);
    let upstream = match event.upstream_id {
        Some(id) => gateways.find(id),
        None => event.dispatcher_group_id.and_then(by_group),
    };
    let health = if event.kind == EventType::UpstreamUp { UpstreamHealth::Up } else { UpstreamHealth::Down };
    Ok(match upstream {
        Some(upstream) => Ok(HealthReport { upstream: upstream.id, health, at: event.at.0 }),
        None => Err("there is no such upstream".to_owned()),
    })
}

pub async fn save(app: &App, mut reports: Vec<HealthReport>) -> Result<(), DbError> {
    if reports.is_empty() {
        return Ok(());
    }
    // By upstream first, so that two reports of several upstreams do not wait for each other.
    reports.sort_by_key(|report| (report.upstream, report.at));
    app.db
        .tx(reports, |conn, reports| {
            Box::pin(async move {
                let mut changed = false;
                for HealthReport { upstream, health, at } in reports {
                    changed |= crate::upstreams::update_health(conn, *upstream, *health, *at).await?;
                }
                if changed { upstreams::bump_version(conn).await } else { Ok(()) }
            })
        })
        .await
}
