//! What a switch asks the operations port.

use std::sync::Arc;

use hyper::StatusCode;
use serde::Serialize;

use crate::addresses::{Addresses, Network};
use crate::app::App;
use crate::http::answer::Rendered;
use crate::http::problem::Problem;
use crate::http::response::Response;
use crate::snapshot::Versioned;
use crate::values::{Cidr, TrunkId};

/// What a switch's files are made from.
#[derive(Serialize)]
struct Config {
    /// Rises with every change.
    version: i64,
    /// Where calls can be sent.
    dispatcher: [(); 0],
    /// Where calls may come from.
    addresses: Vec<Source>,
}

#[derive(Serialize)]
struct Source {
    cidr: Cidr,
    trunk_id: TrunkId,
}

/// `GET /switch/config`, with every change that is committed.
pub async fn config(app: &App) -> Result<Response, Problem> {
    let addresses: Arc<Addresses> = app.addresses.current(&app.db).await?;
    let source = |&Network { cidr, trunk_id, .. }: &Network| Source { cidr, trunk_id };
    let config = Config {
        version: addresses.version(),
        dispatcher: [],
        addresses: addresses.networks().iter().map(source).collect(),
    };
    Ok(Rendered::json(StatusCode::OK, &config)?.into_response())
}
