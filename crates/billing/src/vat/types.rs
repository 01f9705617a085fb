//! Response types of VAT.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use identity::accounts::VatStatus;
use values::Rfc3339;

/// VAT id of an account and its status.
#[derive(Serialize, JsonSchema)]
pub struct VatStanding {
    /// Status of the VAT id.
    pub status: VatStatus,
    /// VAT id of the account; null when it has none.
    pub vat_id: Option<String>,
    /// When the last check of this id was answered (RFC 3339, UTC); null until then.
    pub last_checked_at: Option<Rfc3339>,
    /// Ids of the uploaded documents of VAT evidence, oldest first.
    pub proof_documents: Vec<Uuid>,
}

/// A document of VAT evidence that a customer uploaded.
#[derive(Serialize, JsonSchema)]
pub struct VatProofDocument {
    /// Id of the document.
    pub id: Uuid,
    /// Name of the uploaded file.
    pub filename: String,
    /// Media type of the file, detected from its content.
    pub content_type: String,
    /// Size of the file, in bytes.
    pub size_bytes: i64,
    /// When the file was uploaded (RFC 3339, UTC).
    pub uploaded_at: Rfc3339,
    /// Signed URL of the file; it expires after five minutes.
    pub download_url: String,
}

/// VAT evidence of a customer.
#[derive(Serialize, JsonSchema)]
pub struct VatProofDocuments {
    /// Uploaded documents, oldest first.
    pub data: Vec<VatProofDocument>,
}

/// Form fields of an upload of VAT evidence; there are none besides the file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvidenceForm {}
