//! Sign-in and sessions.
//!
//! A sign-in opens a session: one device, and the family of all refresh tokens that follow from it. An access token
//! lives fifteen minutes and has a row that can be revoked; a refresh token is spent by its use and followed by another.
//! A spent token that comes back means that somebody copied it: the whole family ends, unless it is only a lost answer.
//!
//! - `sign_in`: password, second factor · `refresh`: rotation and sign-out · `links`: magic links and forgotten
//!   passwords · `devices`: `GET /me` and the list of sessions · `impersonate`: an admin reads as a customer
//! - `rules`: lock-out and reuse, pure · `issue`: tokens · `jobs`: what runs later

mod devices;
mod impersonate;
mod issue;
mod jobs;
mod links;
mod refresh;
mod rules;
mod sign_in;
mod store;
mod types;

pub use devices::{end_device, list_devices, me};
pub use impersonate::impersonate;
pub use jobs::{FORGOT_PASSWORD, forgot_password_job};
pub use links::{
    MagicLink, first_login, forgot_password, issue_magic_link, redeem_magic_link, reset_password, void_links,
};
pub use refresh::{refresh, sign_out};
pub use sign_in::{sign_in, verify_second_factor};
pub use store::{end_everything, forget_access_tokens, forget_failures, forget_links, forget_sessions};
