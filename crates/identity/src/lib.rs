//! Users, sessions, accounts, onboarding, compliance and notifications.
//!
//! `sessions`, `two_factor` and `passkeys` sign users in. `onboarding` takes an account from signup to approval, with the documents
//! of `compliance` and `kyb`. `account_users` are the people of a customer, `api_keys` its programs. `accounts`, `balance`
//! and `notifications` are what an account sees of itself, `events` what its programs see.

pub mod account_users;
pub mod accounts;
pub mod api_keys;
pub mod balance;
pub mod bootstrap;
pub mod compliance;
pub mod downloads;
pub mod events;
pub mod imports;
mod invitations;
pub mod jobs;
pub mod kyb;
pub mod mailed_links;
pub mod names;
pub mod notifications;
pub mod onboarding;
pub mod passkeys;
pub mod portal;
pub mod routes;
pub mod sessions;
pub mod two_factor;
pub mod users;
