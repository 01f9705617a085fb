//! Whether a VAT id is one: asked of VIES, the register of the European Union's tax offices.
//!
//! Form and check digits tell what cannot be an id. That it is one, only the member state knows, and VIES asks it for
//! us. Member states are away for hours, and VIES turns callers down when many ask at once; then nothing is known, which
//! is never a no. `offline` is the default: it asks nobody, so an id that could be one stays one that could be.
//!
//! No call here may stand inside a transaction.

mod rest;

pub use rest::Rest;

use values::{VatId, text_enum};

text_enum! {
    /// Who is asked about VAT ids.
    pub enum VatChecks {
        /// Nobody.
        Offline = "offline",
        Vies = "vies",
    }
}

/// What is known of an id after asking.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    Valid(Proof),
    /// The member state knows no such id.
    Invalid,
    /// It could be one, and there is nobody to ask.
    Plausible,
    /// Nobody answered; another time somebody may. The reason is for the log.
    Unknown(String),
}

/// What a tax inspector wants to see: that we asked, and what we heard.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Proof {
    /// VIES's number of the consultation; it gives one only to callers who say who they are.
    pub request_identifier: Option<String>,
    pub name: Option<String>,
    pub address: Option<String>,
}

/// Whoever the settings name.
#[derive(Clone)]
pub enum Vies {
    Offline,
    Online(Rest),
}

impl Vies {
    /// What can be known of an id now.
    pub async fn check(&self, id: &VatId) -> Verdict {
        match self {
            Vies::Offline => Verdict::Plausible,
            Vies::Online(rest) => rest.check(id).await,
        }
    }
}
