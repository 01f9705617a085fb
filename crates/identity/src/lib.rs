//! Who uses the service: users, sessions, accounts, onboarding, compliance, notifications.

pub mod accounts;
pub mod balance;
pub mod bootstrap;
pub mod compliance;
pub mod downloads;
pub mod imports;
pub mod kyb;
pub mod notifications;
pub mod onboarding;
pub mod sessions;
pub mod two_factor;
pub mod users;
