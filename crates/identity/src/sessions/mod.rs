//! Sign-in and sessions.
//!
//! A sign-in opens a session: one device, and the family of refresh tokens that are issued for it. An access token
//! lasts fifteen minutes and has a row, so that it can be revoked; a refresh token works once and is replaced by the
//! next. A refresh token that is used twice was copied: the session ends, unless the client only lost the response.
//!
//! - `sign_in`: password and second factor · `passkey`: sign-in with a passkey · `refresh`: token rotation and sign-out ·
//!   `cookies`: the same for browsers · `links`: magic links and password resets · `reauthenticate`: step-up before sensitive changes · `devices`: `GET /me`
//!   and the list of sessions · `impersonate`: read-only tokens for admins
//! - `verification`: proof of the mailbox, which drops what was set before it · `passwords`: change of a password ·
//!   `new_device`: the mail about a sign-in from elsewhere
//! - `rules`: lockout and token reuse, pure functions · `issue`: tokens · `jobs`: the mail of a password reset

mod cookies;
mod devices;
mod impersonate;
mod issue;
mod jobs;
mod links;
mod new_device;
mod passkey;
mod passwords;
mod reauthenticate;
mod refresh;
mod rules;
mod sign_in;
mod store;
mod types;
mod verification;

pub use cookies::{clear_cookie, refresh_cookie, set_cookie};
pub use devices::{delete_device, delete_other_devices, list_devices, me};
pub use impersonate::impersonate;
pub use jobs::{FORGOT_PASSWORD, forgot_password_job};
pub use links::{first_login, forgot_password, redeem_magic_link, reset_password};
pub use passkey::{passkey_challenge, sign_in_with_passkey};
pub use passwords::change_password;
pub use reauthenticate::reauthenticate;
pub use refresh::{refresh, sign_out};
pub use sign_in::{sign_in, verify_second_factor};
pub use store::{end_all_sessions, end_other_sessions, purge_access_tokens, purge_failures, purge_sessions};
pub use verification::{CREDENTIALS_DROPPED, request_verification, verify_email};
