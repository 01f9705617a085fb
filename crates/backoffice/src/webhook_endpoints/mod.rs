//! Webhook endpoints: URLs of customers and of the team that events are sent to, as Standard Webhooks 1.0.
//!
//! `publish` gives committed events their positions and, in the same transaction, creates a delivery for every endpoint
//! that selects them. One job per endpoint attempts what is due (`deliver`), a few at a time, so that an endpoint that
//! hangs delays no other. `rules` has the pauses between attempts. An endpoint that responds 410, or fails for 5 days,
//! is disabled; what is pending then waits until it is enabled again.
//!
//! - `customer`: `/webhook-endpoints` · `admin`: `/admin/webhook-endpoints` · `endpoints`, `deliveries`: shared by both
//! - `secret`: secrets and signatures

mod admin;
mod customer;
mod deliver;
mod deliveries;
mod endpoints;
mod publish;
mod rules;
mod secret;
mod store;
mod types;

pub use admin::{
    create as team_create, delete as team_delete, list as team_list, list_deliveries as team_list_deliveries,
    replay as team_replay, retry as team_retry, rotate_secret as team_rotate_secret, show as team_show,
    show_delivery as team_show_delivery, test as team_test, update as team_update,
};
pub use customer::{
    create, delete, list, list_deliveries, list_of_customer, replay, retry, rotate_secret, show, show_delivery, test,
    update,
};
pub use deliver::{DELIVER, deliver_job};
pub use endpoints::delete_early_job;
pub use publish::publish;
pub use secret::reseal;
pub use store::{erase, purge_deleted, purge_deliveries};
