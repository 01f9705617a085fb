//! The public face: every request goes the same way, and every endpoint is a row of data.
//!
//! - [`endpoint`]: a row of the table and its typed builder; [`handler`]: the functions behind the rows
//! - [`input`], [`upload`], [`schema`], [`page`]: what a handler takes, validated once; [`answer`]: what it gives
//! - [`context`]: who asks, and the one transaction in which a change happens
//! - [`pipeline`]: the way of a request; [`auth`], [`idempotency`], [`conditional`], [`headers`]: its stations
//! - [`problem`]: every refusal; [`openapi`] and [`reference`]: what the table says of itself
//! - [`screen`]: pages that are made when they are asked for; [`html`]: the only way to write one
//! - [`server`][]: connections; [`alarm`]: their timers; [`arriving`]: the bodies that come over them; `shares`: how many
//!   requests are in work

pub mod alarm;
pub mod answer;
pub mod arriving;
pub mod auth;
pub mod conditional;
pub mod context;
pub mod csv;
pub mod endpoint;
pub mod handler;
pub mod headers;
pub mod html;
pub mod idempotency;
pub mod input;
pub mod openapi;
pub mod page;
pub mod pipeline;
pub mod problem;
pub mod reference;
pub mod response;
pub mod router;
pub mod schema;
pub mod screen;
pub mod server;
mod shares;
pub mod upload;
