//! What switches ask and tell, and what it comes to.

mod alarms;
mod authorize;
mod desk;
mod events;
mod inbound;
mod late;
mod lines;
mod prices;
mod races;
