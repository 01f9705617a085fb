//! Intakes over the wire. Times here are RFC 3339.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::store::{DocumentRow, IntakeRow};
use values::{AccountId, DocKind, IntakeDocumentId, IntakeId, Rfc3339, Text, text_enum};

text_enum! {
    /// What an intake is for.
    pub enum Purpose {
        Kyb = "kyb",
        RegulatoryDid = "regulatory_did",
    }
}

text_enum! {
    /// Where an intake stands.
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
    /// What the team thinks of a document.
    pub enum DocumentStatus {
        Pending = "pending",
        Accepted = "accepted",
        Rejected = "rejected",
    }
}

#[derive(Serialize, JsonSchema)]
pub struct IntakeDocument {
    pub id: IntakeDocumentId,
    pub kind: DocKind,
    pub filename: String,
    pub content_type: String,
    pub size_bytes: i64,
    pub uploaded_at: Rfc3339,
    pub status: DocumentStatus,
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

#[derive(Serialize, JsonSchema)]
pub struct Intake {
    pub id: IntakeId,
    pub status: IntakeStatus,
    pub purpose: Purpose,
    /// The number order it belongs to, if any.
    pub related_resource_id: Option<Uuid>,
    /// Kinds of which a document is needed before the intake can be submitted.
    pub required_docs: Vec<DocKind>,
    pub uploaded_docs: Vec<DocKind>,
    pub documents: Vec<IntakeDocument>,
    pub reviewer_note: Option<String>,
    pub submitted_at: Option<Rfc3339>,
    pub reviewed_at: Option<Rfc3339>,
    pub created_at: Rfc3339,
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

/// An intake as the team sees it.
#[derive(Serialize, JsonSchema)]
pub struct AdminIntake {
    pub account_id: AccountId,
    #[serde(flatten)]
    pub intake: Intake,
}

/// A document and where the team finds its file.
#[derive(Serialize, JsonSchema)]
pub struct LinkedDocument {
    #[serde(flatten)]
    pub document: IntakeDocument,
    /// Good for five minutes.
    pub download_url: String,
}

#[derive(Serialize, JsonSchema)]
pub struct LinkedDocuments {
    pub data: Vec<LinkedDocument>,
}

/// What stands beside the file of an upload.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentForm {
    pub doc_kind: DocKind,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComplianceActionRequest {
    /// Shown to the customer.
    #[serde(default)]
    pub note: Option<Text<0, 2000>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend(
    "if" = {"properties": {"status": {"const": "rejected"}}, "required": ["status"]},
    "then" = {"properties": {"reject_reason": {"type": "string"}}, "required": ["reject_reason"]},
    "else" = {"properties": {"reject_reason": {"type": "null"}}}
))]
pub struct DocumentUpdate {
    pub status: DocumentStatus,
    /// Needed to reject; no other verdict has one.
    #[serde(default)]
    pub reject_reason: Option<Text<1, 500>>,
}
