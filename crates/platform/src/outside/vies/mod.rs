//! Checks VAT ids with VIES, the VAT information exchange system of the European Union.
//!
//! Format and check digits show only that an id is impossible. Whether it exists, VIES asks the member state. Member
//! states can be unavailable for hours, and VIES limits concurrent requests; then the result is unknown, never invalid.
//! `offline`, the default, asks no one, so a well-formed id stays plausible. Never call this inside a transaction.

mod rest;

pub use rest::Rest;

use db::assert_no_connection_held;
use values::{VatId, text_enum};

text_enum! {
    /// How VAT ids are checked.
    pub enum VatChecks {
        /// By format and check digits only.
        Offline = "offline",
        Vies = "vies",
    }
}

/// The result of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    Valid(Proof),
    /// The id does not exist.
    Invalid,
    /// The id is well-formed, and checks are offline.
    Plausible,
    /// The check failed; a retry may help. The reason is for the log.
    Unknown(String),
}

/// Evidence of the check for the tax office.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Proof {
    /// The consultation number of VIES; only given if the request names the requester.
    pub request_identifier: Option<String>,
    pub name: Option<String>,
    pub address: Option<String>,
}

/// The service that the settings select.
#[derive(Clone)]
pub enum Vies {
    Offline,
    Online(Rest),
}

impl Vies {
    /// Checks an id.
    pub async fn check(&self, id: &VatId) -> Verdict {
        assert_no_connection_held();
        match self {
            Vies::Offline => Verdict::Plausible,
            Vies::Online(rest) => rest.check(id).await,
        }
    }
}
