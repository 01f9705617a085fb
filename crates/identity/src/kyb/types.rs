//! Request and response types of KYB. Times are Unix seconds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::compliance::{DocumentRow, IntakeRow, IntakeStatus};
use crate::onboarding::AccountStatus;
use values::{AccountId, Country, DocKind, Email, KybDocumentId, KybId, Text, UnixSeconds, text_enum};

text_enum! {
    /// Status of a KYB intake: `open` (the customer adds documents), `submitted` (the team reviews it), `approved` or
    /// `rejected` (final; the next request opens a new intake).
    pub enum KybStatus {
        Open = "open",
        Submitted = "submitted",
        Approved = "approved",
        Rejected = "rejected",
    }
}

impl From<IntakeStatus> for KybStatus {
    fn from(status: IntakeStatus) -> Self {
        match status {
            IntakeStatus::Draft | IntakeStatus::MoreInfoRequested => KybStatus::Open,
            IntakeStatus::Submitted | IntakeStatus::UnderReview => KybStatus::Submitted,
            IntakeStatus::Approved => KybStatus::Approved,
            IntakeStatus::Rejected => KybStatus::Rejected,
        }
    }
}

/// KYB intake of an account.
#[derive(Serialize, JsonSchema)]
pub struct ComplianceIntake {
    /// Id of the KYB intake.
    pub id: KybId,
    /// Status of the KYB intake.
    pub status: KybStatus,
    /// Kinds of which at least one document is needed before the intake can be submitted.
    pub required_docs: Vec<DocKind>,
    /// Kinds among `required_docs` that have a document which was not rejected.
    pub uploaded_docs: Vec<DocKind>,
    /// Note of the reviewer to the customer; null when there is none.
    pub reviewer_note: Option<String>,
    /// When the intake was last submitted (Unix seconds); null until then.
    pub submitted_at: Option<UnixSeconds>,
    /// When the intake was approved or rejected (Unix seconds); null until then.
    pub reviewed_at: Option<UnixSeconds>,
    /// When the intake was opened (Unix seconds).
    pub created_at: UnixSeconds,
    /// When the intake or one of its documents last changed (Unix seconds).
    pub updated_at: UnixSeconds,
}

impl ComplianceIntake {
    pub fn new(row: IntakeRow, documents: &[DocumentRow]) -> ComplianceIntake {
        ComplianceIntake {
            id: KybId::new(row.id.uuid()),
            status: row.status.into(),
            uploaded_docs: row.uploaded(documents),
            required_docs: row.required_docs.0,
            reviewer_note: row.reviewer_note,
            submitted_at: row.submitted_at.map(UnixSeconds),
            reviewed_at: row.reviewed_at.map(UnixSeconds),
            created_at: UnixSeconds(row.created_at),
            updated_at: UnixSeconds(row.updated_at),
        }
    }
}

/// Uploaded KYB document.
#[derive(Serialize, JsonSchema)]
pub struct KybUploadResponse {
    /// Id of the document.
    pub id: KybDocumentId,
    /// Kind of document.
    pub doc_kind: DocKind,
    /// Media type, detected from the content of the file.
    pub content_type: String,
    /// Size of the file in bytes.
    pub size_bytes: i64,
    /// When the document was uploaded (Unix seconds).
    pub uploaded_at: UnixSeconds,
}

impl From<DocumentRow> for KybUploadResponse {
    fn from(row: DocumentRow) -> Self {
        KybUploadResponse {
            id: KybDocumentId::new(row.id.uuid()),
            doc_kind: row.kind,
            content_type: row.content_type,
            size_bytes: row.size_bytes,
            uploaded_at: UnixSeconds(row.uploaded_at),
        }
    }
}

/// KYB intake in the team's list.
#[derive(Serialize, JsonSchema)]
pub struct AdminKybListItem {
    /// Id of the KYB intake.
    pub id: KybId,
    /// Id of the customer's account.
    pub account_id: AccountId,
    /// Id of the customer's account as a plain UUID, as in all lists of the team.
    pub customer_id: Uuid,
    /// Name of the customer; the same as `account_legal_name`.
    pub customer_name: String,
    /// Legal name of the customer.
    pub account_legal_name: String,
    /// Status of the KYB intake.
    pub status: KybStatus,
    /// When the intake was last submitted (Unix seconds); null until then.
    pub submitted_at: Option<UnixSeconds>,
    /// Note of the reviewer to the customer; null when there is none.
    pub reviewer_note: Option<String>,
    /// Number of uploaded documents.
    #[schemars(range(min = 0))]
    pub document_count: i64,
}

/// Account that a KYB intake belongs to.
#[derive(Serialize, JsonSchema)]
pub struct AdminKybAccount {
    /// Id of the account.
    pub id: AccountId,
    /// Legal name of the company.
    pub legal_name: String,
    /// Trading name of the company; null when it has none.
    pub trading_name: Option<String>,
    /// Country of the company, as an ISO 3166-1 alpha-2 code.
    pub country: Country,
    /// Full name of the contact person.
    pub contact_name: String,
    /// Email address of the contact person.
    pub contact_email: Email,
    /// Status of the account in the private beta.
    pub status: AccountStatus,
}

/// KYB document with a link to its file.
#[derive(Serialize, JsonSchema)]
pub struct AdminKybDocument {
    /// Id of the document.
    pub doc_id: KybDocumentId,
    /// Kind of document.
    pub doc_kind: DocKind,
    /// Media type, detected from the content of the file.
    pub content_type: String,
    /// Size of the file in bytes.
    pub size_bytes: i64,
    /// When the document was uploaded (Unix seconds).
    pub uploaded_at: UnixSeconds,
    /// Signed URL of the file; it works without signing in and expires after five minutes.
    pub download_url: String,
}

/// KYB intake with its account and documents, as the team sees it.
#[derive(Serialize, JsonSchema)]
pub struct AdminKybDetail {
    #[serde(flatten)]
    pub intake: ComplianceIntake,
    /// Id of the customer's account.
    pub account_id: AccountId,
    /// Id of the customer's account as a plain UUID, as in all lists of the team.
    pub customer_id: Uuid,
    /// The customer's account.
    pub account_summary: AdminKybAccount,
    /// Documents of the intake, oldest first.
    pub documents: Vec<AdminKybDocument>,
}

/// Decision about a KYB intake.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminKybActionRequest {
    /// Note to the customer; it is shown in the portal and in the mail about the decision.
    #[serde(default)]
    pub reviewer_note: Option<Text<0, 2000>>,
}
