//! The way of every request, tried with endpoints made for the purpose: what the pipeline promises, it promises for
//! any handler, also for one that panics, dawdles or lies.

mod faults;
mod headers;
mod keys;
mod limited;
mod load;
mod paging;
mod probes;
mod unread;
mod wire;
