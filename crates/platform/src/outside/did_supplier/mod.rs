//! The DID supplier: where numbers are activated when a customer rents one, and deactivated when the rental ends.
//!
//! Every request carries the order's id, and repeating it changes nothing; so after a crash or a lost response the
//! request is simply sent again. `inventory` is the default: the operator owns its numbers, and there is no one to ask.
//! `http` is a supplier with a small HTTP API. Never call these inside a transaction.

mod http;

use std::fmt;

use uuid::Uuid;

use db::assert_no_connection_held;
use values::{E164, text_enum};

pub use http::{HttpDidSupplier, HttpDidSupplierSettings};

text_enum! {
    /// Where numbers are activated.
    pub enum DidSupplierKind {
        Inventory = "inventory",
        Http = "http",
    }
}

/// The supplier's answer about the activation of a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Activation {
    Active,
    /// The supplier is still working on it.
    Pending,
    /// The supplier will not activate this number, for this reason.
    Refused(String),
}

/// The supplier is unreachable or gave no valid response; a retry may help.
#[derive(Debug)]
pub struct DidSupplierError(pub String);

impl fmt::Display for DidSupplierError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DidSupplierError {}

/// The supplier that the settings select.
#[derive(Clone)]
pub enum DidSupplier {
    Inventory,
    Http(HttpDidSupplier),
}

impl DidSupplier {
    /// Activates a number for an order, or says how far the activation is.
    pub async fn activate(&self, number: &E164, order: Uuid) -> Result<Activation, DidSupplierError> {
        assert_no_connection_held();
        match self {
            DidSupplier::Inventory => Ok(Activation::Active),
            DidSupplier::Http(supplier) => supplier.activate(number, order).await,
        }
    }

    /// Deactivates the number of an order, whether or not it was activated.
    pub async fn deactivate(&self, number: &E164, order: Uuid) -> Result<(), DidSupplierError> {
        assert_no_connection_held();
        match self {
            DidSupplier::Inventory => Ok(()),
            DidSupplier::Http(supplier) => supplier.deactivate(number, order).await,
        }
    }
}
