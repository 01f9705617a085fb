//! Carriers that numbers come from: they have to be told when a number of theirs is let.
//!
//! Whatever is asked for carries the order's id, and asking again under the same one changes nothing; so a crash in
//! between, or an answer that never came, costs nothing but another question.
//!
//! `stock` is the default: the numbers are our own, and there is nobody to tell. `http` is a carrier with a small API of
//! its own. No call here may stand inside a transaction.

mod http;

use std::fmt;

use uuid::Uuid;

use values::{E164, text_enum};

pub use http::{HttpCarrier, HttpCarrierSettings};

text_enum! {
    /// Who lets numbers work.
    pub enum Carrier {
        Stock = "stock",
        Http = "http",
    }
}

/// What a carrier says of a number that is to be let.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Activation {
    Active,
    /// It takes a while.
    Pending,
    /// It never will be, for this reason.
    Refused(String),
}

/// The carrier did not answer as it should; another try may help.
#[derive(Debug)]
pub struct CarrierAway(pub String);

impl fmt::Display for CarrierAway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CarrierAway {}

/// The carrier that the settings name.
#[derive(Clone)]
pub enum Carriers {
    Stock,
    Http(HttpCarrier),
}

impl Carriers {
    /// Has a number work for an order, or hears how far that is.
    pub async fn activate(&self, number: &E164, order: Uuid) -> Result<Activation, CarrierAway> {
        match self {
            Carriers::Stock => Ok(Activation::Active),
            Carriers::Http(carrier) => carrier.activate(number, order).await,
        }
    }

    /// Ends what an order began, whether or not it came to anything.
    pub async fn deactivate(&self, number: &E164, order: Uuid) -> Result<(), CarrierAway> {
        match self {
            Carriers::Stock => Ok(()),
            Carriers::Http(carrier) => carrier.deactivate(number, order).await,
        }
    }
}
