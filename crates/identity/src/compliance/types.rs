//! Request and response types of intakes. Times are RFC 3339.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::store::{DocumentRow, IntakeRow};
use values::{AccountId, DocKind, IntakeDocumentId, IntakeId, Rfc3339, Text, text_enum};

text_enum! {
    /// Purpose of a compliance intake: `kyb` (verification of the company) or `regulatory_did` (documents that a
    /// regulated number needs).
    pub enum Purpose {
        Kyb = "kyb",
        RegulatoryDid = "regulatory_did",
    }
}

text_enum! {
    /// Status of a compliance intake: `draft` and `more_info_requested` (the customer adds documents), `submitted` and
    /// `under_review` (the team reviews it), `approved` or `rejected` (final).
    pub enum IntakeStatus {
        Draft = "draft",
        Submitted = "submitted",
        UnderReview = "under_review",
        Approved = "approved",
        Rejected = "rejected",
        MoreInfoRequested = "more_info_requested",
    }
}

text_enum! {
    /// Review status of a document: `pending` (not reviewed), `accepted` or `rejected`.
    pub enum DocumentStatus {
        Pending = "pending",
        Accepted = "accepted",
        Rejected = "rejected",
    }
}

/// Document of a compliance intake.
#[derive(Serialize, JsonSchema)]
pub struct IntakeDocument {
    /// Id of the document.
    pub id: IntakeDocumentId,
    /// Kind of document, such as `company_registration`.
    pub kind: DocKind,
    /// Name of the uploaded file.
    pub filename: String,
    /// Media type, detected from the content of the file.
    pub content_type: String,
    /// Size of the file in bytes.
    pub size_bytes: i64,
    /// When the document was uploaded (RFC 3339, UTC).
    pub uploaded_at: Rfc3339,
    /// Review status of the document.
    pub status: DocumentStatus,
    /// Why the document was rejected; omitted unless `status` is `rejected`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reject_reason: Option<String>,
}

impl From<DocumentRow> for IntakeDocument {
    fn from(row: DocumentRow) -> Self {
        IntakeDocument {
            id: row.id,
            kind: row.kind,
            filename: row.file_name,
            content_type: row.content_type,
            size_bytes: row.size_bytes,
            uploaded_at: Rfc3339(row.uploaded_at),
            status: row.status,
            reject_reason: row.reject_reason,
        }
    }
}

/// Compliance intake: a set of documents that the team reviews.
#[derive(Serialize, JsonSchema)]
pub struct Intake {
    /// Id of the intake.
    pub id: IntakeId,
    /// Status of the intake.
    pub status: IntakeStatus,
    /// What the documents are for.
    pub purpose: Purpose,
    /// Id of the number order that needs the documents; null for KYB.
    pub related_resource_id: Option<Uuid>,
    /// Kinds of which at least one document is needed before the intake can be submitted.
    pub required_docs: Vec<DocKind>,
    /// Kinds among `required_docs` that have a document which was not rejected.
    pub uploaded_docs: Vec<DocKind>,
    /// Documents of the intake, oldest first, at most 20.
    pub documents: Vec<IntakeDocument>,
    /// Note of the reviewer to the customer; null when there is none.
    pub reviewer_note: Option<String>,
    /// When the intake was last submitted (RFC 3339, UTC); null until then.
    pub submitted_at: Option<Rfc3339>,
    /// When the intake was approved or rejected (RFC 3339, UTC); null until then.
    pub reviewed_at: Option<Rfc3339>,
    /// When the intake was opened (RFC 3339, UTC).
    pub created_at: Rfc3339,
    /// When the intake or one of its documents last changed (RFC 3339, UTC).
    pub updated_at: Rfc3339,
}

impl Intake {
    pub fn new(row: IntakeRow, documents: Vec<DocumentRow>) -> Intake {
        Intake {
            id: row.id,
            status: row.status,
            purpose: row.purpose,
            related_resource_id: row.related_resource_id,
            uploaded_docs: row.uploaded(&documents),
            required_docs: row.required_docs.0,
            documents: documents.into_iter().map(IntakeDocument::from).collect(),
            reviewer_note: row.reviewer_note,
            submitted_at: row.submitted_at.map(Rfc3339),
            reviewed_at: row.reviewed_at.map(Rfc3339),
            created_at: Rfc3339(row.created_at),
            updated_at: Rfc3339(row.updated_at),
        }
    }
}

/// Compliance intake as the team sees it.
#[derive(Serialize, JsonSchema)]
pub struct AdminIntake {
    /// Id of the customer's account.
    pub account_id: AccountId,
    /// Id of the customer's account as a plain UUID, as in all lists of the team.
    pub customer_id: Uuid,
    /// Name of the customer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer_name: Option<String>,
    #[serde(flatten)]
    pub intake: Intake,
}

/// Document with a link to its file.
#[derive(Serialize, JsonSchema)]
pub struct LinkedDocument {
    #[serde(flatten)]
    pub document: IntakeDocument,
    /// Signed URL of the file; it works without signing in and expires after five minutes.
    pub download_url: String,
}

/// Documents of an intake, each with a link to its file.
#[derive(Serialize, JsonSchema)]
pub struct LinkedDocuments {
    /// Documents, oldest first.
    pub data: Vec<LinkedDocument>,
}

/// Fields of the multipart form beside the file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentForm {
    /// Kind of the document, one that the intake requires or accepts, such as `company_registration`.
    /// Kind of document; must be one that the intake accepts.
    pub doc_kind: DocKind,
}

/// Decision about an intake.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComplianceActionRequest {
    /// Note to the customer; it is shown in the portal and in the mail about the decision.
    #[serde(default)]
    pub note: Option<Text<0, 2000>>,
}

/// Review of one document.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend(
    "if" = {"properties": {"status": {"const": "rejected"}}, "required": ["status"]},
    "then" = {"properties": {"reject_reason": {"type": "string"}}, "required": ["reject_reason"]},
    "else" = {"properties": {"reject_reason": {"type": "null"}}}
))]
pub struct DocumentUpdate {
    /// New review status of the document.
    pub status: DocumentStatus,
    /// Why the document is rejected; required when `status` is `rejected`, not allowed otherwise.
    #[serde(default)]
    pub reject_reason: Option<Text<1, 500>>,
}
