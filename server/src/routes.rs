//! Every endpoint of the API, in the order of the API reference.
//!
//! Each crate declares its own, in its `routes.rs`; here they are put under the headings of [`api::tags`]. The switch's
//! endpoints are on the operations port, see [`crate::ops`].

use api::endpoint::Endpoint;
use api::tags;

pub fn table() -> Vec<Endpoint> {
    let mut table: Vec<Endpoint> = [
        identity::routes::endpoints(),
        voice::routes::endpoints(),
        billing::routes::endpoints(),
        numbers::routes::endpoints(),
        backoffice::routes::endpoints(),
    ]
    .into_iter()
    .flatten()
    .collect();
    let place = |endpoint: &Endpoint| tags::ALL.iter().position(|tag| *tag == endpoint.tag);
    table.sort_by_key(place);
    table
}
