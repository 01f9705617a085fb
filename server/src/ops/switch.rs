//! The endpoints of switches: configuration, authorization of calls, events of calls, and CDRs.

use bytes::Bytes;
use hyper::{Method, StatusCode};
use serde::Serialize;

use super::endpoint::{Access, OpsEndpoint, Queue};
use api::answer::Rendered;
use api::checks::Checked;
use api::input::parse_json;
use api::problem::Problem;
use api::response::Response;
use api::scopes::Scope;
use db::metrics::Requests;
use numbers::trunks;
use platform::app::App;
use platform::edge::{AddressOwner, Config, Gateway, Source};
use platform::routing::cache::Versioned;
use voice::{calls, cdrs};

const MAX_AUTHORIZE_BYTES: usize = 16 * 1024;
const MAX_VERIFY_BYTES: usize = 4 * 1024;
const MAX_EVENTS_BYTES: usize = 1024 * 1024;
const MAX_CDRS_BYTES: usize = 16 * 1024 * 1024;
/// A file of CDRs is held in memory, so only a few are imported at the same time.
const MAX_CONCURRENT_IMPORTS: usize = 2;
/// Their files are not read yet.
const MAX_WAITING_IMPORTS: usize = 8;

pub fn endpoints(requests: &Requests) -> Vec<OpsEndpoint> {
    let endpoint = |method: Method, path, max_body_bytes, handler| OpsEndpoint {
        successes: Some(requests.successes(&method, path, StatusCode::OK)),
        access: Access::SwitchSecret,
        queue: None,
        method,
        path,
        max_body_bytes,
        handler,
    };
    vec![
        endpoint(Method::GET, "/switch/config", 0, |ops, _| Box::pin(config(&ops.app))),
        endpoint(Method::POST, "/switch/authorize", MAX_AUTHORIZE_BYTES, |ops, request| {
            Box::pin(authorize(&ops.app, &ops.decisions, request.body))
        }),
        endpoint(Method::POST, "/switch/verify", MAX_VERIFY_BYTES, |ops, request| {
            Box::pin(verify(&ops.app, request.body))
        }),
        endpoint(Method::POST, "/switch/events", MAX_EVENTS_BYTES, |ops, request| {
            Box::pin(events(&ops.app, request.body))
        }),
        OpsEndpoint {
            access: Access::SwitchSecretOr(Scope::CdrsWrite, "cdrs.import"),
            queue: Some(Queue::new(MAX_CONCURRENT_IMPORTS, MAX_WAITING_IMPORTS)),
            ..endpoint(Method::POST, "/switch/cdrs", MAX_CDRS_BYTES, |ops, request| {
                Box::pin(cdrs(&ops.app, request.body))
            })
        },
    ]
}

/// The gateways of upstreams and the networks of trunks and upstreams, with every committed change.
async fn config(app: &App) -> Result<Response, Problem> {
    let addresses = app.addresses.current(&app.db).await?;
    let gateways = app.gateways.current(&app.db).await?;
    let dispatcher = gateways.active().flat_map(|upstream| {
        let (group_id, upstream_id) = (upstream.dispatcher_group_id, upstream.id);
        upstream.gateways.0.iter().map(move |uri| Gateway { group_id, uri: uri.clone(), upstream_id })
    });
    let trunks = addresses
        .networks(app.settings.allow_list_proof)
        .iter()
        .map(|network| Source { cidr: network.cidr, owner: AddressOwner::TrunkId(network.trunk_id) });
    let upstreams = gateways.active().flat_map(|upstream| {
        upstream.signaling_ips.0.iter().map(|cidr| Source { cidr: *cidr, owner: AddressOwner::UpstreamId(upstream.id) })
    });
    let config = Config {
        version: addresses.version() + gateways.version(),
        dispatcher: dispatcher.collect(),
        addresses: trunks.chain(upstreams).collect(),
    };
    json(&config)
}

async fn authorize(app: &App, decisions: &calls::Authorizer, body: Bytes) -> Result<Response, Problem> {
    let Checked(request) = parse_json(&body, &app.settings, app.clock.now())?;
    json(&decisions.authorize(request).await?)
}

/// A SIP request by which a customer proves a network.
async fn verify(app: &App, body: Bytes) -> Result<Response, Problem> {
    json(&trunks::prove(app, &parse_json(&body, &app.settings, app.clock.now())?).await?)
}

async fn events(app: &App, body: Bytes) -> Result<Response, Problem> {
    json(&calls::ingest_events(app, parse_json(&body, &app.settings, app.clock.now())?).await?)
}

/// Imports CDRs, one JSON object per line.
async fn cdrs(app: &App, lines: Bytes) -> Result<Response, Problem> {
    if lines.iter().filter(|byte| **byte == b'\n').count() > cdrs::MAX_IMPORT_LINES {
        return Err(Problem::too_large(MAX_CDRS_BYTES));
    }
    json(&cdrs::import(app, &lines, 1).await?)
}

fn json(body: &impl Serialize) -> Result<Response, Problem> {
    Ok(Rendered::json(StatusCode::OK, body)?.into_response())
}
