//! The request pipeline, tested with test endpoints (`probes`): what it promises holds for any handler, even one that
//! panics or hangs.

mod compression;
mod concurrency;
mod deprecation;
mod faults;
mod headers;
mod idempotency;
mod paging;
mod probes;
mod rate_limits;
mod slow_clients;
mod unread_body;
mod wire;
