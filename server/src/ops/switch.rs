//! What switches ask and tell.

use hyper::{Request, StatusCode};
use serde::Serialize;

use super::{read_body, read_json};
use api::answer::Rendered;
use api::arriving::Arriving;
use api::problem::Problem;
use api::response::Response;
use platform::app::App;
use platform::edge::{Config, Gateway, Source, Whose};
use platform::routing::cache::Versioned;
use voice::{calls, cdrs};

const AUTHORIZE_BYTES: usize = 16 * 1024;
const EVENTS_BYTES: usize = 1024 * 1024;
const CDRS_BYTES: usize = 16 * 1024 * 1024;

/// `GET /switch/config`, with every change that is committed.
pub async fn config(app: &App) -> Result<Response, Problem> {
    let addresses = app.addresses.current(&app.db).await?;
    let gateways = app.gateways.current(&app.db).await?;
    let dispatcher = gateways.active().flat_map(|carrier| {
        let (group_id, upstream_id) = (carrier.dispatcher_group_id, carrier.id);
        carrier.gateways.0.iter().map(move |uri| Gateway { group_id, uri: uri.clone(), upstream_id })
    });
    let trunks =
        addresses.networks().iter().map(|network| Source { cidr: network.cidr, of: Whose::TrunkId(network.trunk_id) });
    let upstreams = gateways.active().flat_map(|carrier| {
        carrier.signaling_ips.0.iter().map(|cidr| Source { cidr: *cidr, of: Whose::UpstreamId(carrier.id) })
    });
    let config = Config {
        version: addresses.version() + gateways.version(),
        dispatcher: dispatcher.collect(),
        addresses: trunks.chain(upstreams).collect(),
    };
    answer(&config)
}

/// `POST /switch/authorize`
pub async fn authorize(decisions: &calls::Authorizer, request: Request<Arriving>) -> Result<Response, Problem> {
    let asked = read_json(request, AUTHORIZE_BYTES).await?;
    answer(&decisions.authorize(asked).await?)
}

/// `POST /switch/events`
pub async fn events(app: &App, request: Request<Arriving>) -> Result<Response, Problem> {
    let told = read_json(request, EVENTS_BYTES).await?;
    answer(&calls::ingest_events(app, told).await?)
}

/// `POST /switch/cdrs`
pub async fn cdrs(app: &App, request: Request<Arriving>) -> Result<Response, Problem> {
    let lines = read_body(request, CDRS_BYTES).await?;
    if lines.iter().filter(|byte| **byte == b'\n').count() > cdrs::MAX_IMPORT_LINES {
        return Err(Problem::too_large(CDRS_BYTES));
    }
    answer(&cdrs::import(app, &lines, 1).await?)
}

fn answer(body: &impl Serialize) -> Result<Response, Problem> {
    Ok(Rendered::json(StatusCode::OK, body)?.into_response())
}
