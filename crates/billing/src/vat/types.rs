//! VAT over the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use identity::accounts::VatStatus;
use values::Rfc3339;

/// What is known of an account's VAT id.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "VatStatus")]
pub struct VatStanding {
    pub status: VatStatus,
    pub vat_id: Option<String>,
    /// When this id was last looked at, by whoever knows.
    pub last_checked_at: Option<Rfc3339>,
    /// The papers that were handed in, oldest first.
    pub proof_documents: Vec<Uuid>,
}

/// A paper that a customer handed in, and where the team finds its file.
#[derive(Serialize, JsonSchema)]
pub struct VatProofDocument {
    pub id: Uuid,
    pub filename: String,
    pub content_type: String,
    pub size_bytes: i64,
    pub uploaded_at: Rfc3339,
    /// Good for five minutes.
    pub download_url: String,
}

#[derive(Serialize, JsonSchema)]
pub struct VatProofDocuments {
    /// Oldest first.
    pub data: Vec<VatProofDocument>,
}

/// A paper needs nothing beside its file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProofForm {}
