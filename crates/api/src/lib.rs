//! HTTP: endpoints as data, the pipeline of every request, and the documentation generated from them.
//!
//! - [`endpoint`]: a row of the table and its typed builder; [`handler`]: the functions behind the rows
//! - [`input`], [`upload`], [`csv`], [`page`]: what a handler reads, validated once by [`schema`] and [`checks`], which
//!   name every field that fails ([`faults`]); [`answer`]: what it returns
//! - [`context`]: the request context, and the one transaction in which a change happens
//! - [`pipeline`]: the order of steps; [`auth`], [`api_keys`], [`scopes`], [`idempotency`], [`conditional`], [`compression`],
//!   [`headers`], `failure`: the steps
//! - [`problem`]: every error response; [`openapi`] and [`reference`]: documentation generated from the table, with
//!   `samples`; [`deprecation`]: operations that end
//! - [`document`]: what everybody gets alike; [`portal`]: the web app, as it was built; [`manual`]: the pages of `docs/`;
//!   [`screen`]: HTML pages rendered on request; [`html`]: escaping
//! - [`server`][]: connections; [`tls`]: their encryption; `networks`: how many a client may have; [`timer`] and `pace`:
//!   their timeouts; [`incoming_body`]: request bodies; [`json`]: their text; `bare_answer`: what is not a request;
//!   `concurrency`: how many requests run at the same time

pub mod answer;
pub mod api_keys;
pub mod auth;
mod bare_answer;
mod callers;
pub mod checks;
pub mod compression;
mod concurrency;
pub mod conditional;
pub mod context;
pub mod csv;
pub mod deprecation;
pub mod document;
pub mod endpoint;
mod failure;
pub mod faults;
pub mod handler;
pub mod headers;
pub mod html;
pub mod idempotency;
pub mod incoming_body;
pub mod input;
pub mod json;
pub mod manual;
mod networks;
pub mod openapi;
mod pace;
pub mod page;
pub mod page_text;
pub mod pipeline;
pub mod portal;
pub mod problem;
pub mod reference;
pub mod response;
pub mod router;
mod samples;
pub mod schema;
pub mod scopes;
pub mod screen;
pub mod server;
pub mod sheet;
mod strangers;
pub mod tags;
pub mod timer;
pub mod tls;
pub mod upload;
