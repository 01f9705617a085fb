//! Business verification over the wire. Times here are Unix seconds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::compliance::{DocumentRow, IntakeRow, IntakeStatus};
use crate::onboarding::AccountStatus;
use values::{AccountId, Country, DocKind, Email, KybDocumentId, KybId, Text, UnixSeconds, text_enum};

text_enum! {
    /// Where a business verification stands.
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

#[derive(Serialize, JsonSchema)]
pub struct ComplianceIntake {
    pub id: KybId,
    pub status: KybStatus,
    /// Kinds of which a document is needed before submitting.
    pub required_docs: Vec<DocKind>,
    pub uploaded_docs: Vec<DocKind>,
    pub reviewer_note: Option<String>,
    pub submitted_at: Option<UnixSeconds>,
    pub reviewed_at: Option<UnixSeconds>,
    pub created_at: UnixSeconds,
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

#[derive(Serialize, JsonSchema)]
pub struct KybUploadResponse {
    pub id: KybDocumentId,
    pub doc_kind: DocKind,
    /// What the file is by its content, whatever its name says.
    pub content_type: String,
    pub size_bytes: i64,
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

#[derive(Serialize, JsonSchema)]
pub struct AdminKybListItem {
    pub id: KybId,
    pub account_id: AccountId,
    pub account_legal_name: String,
    pub status: KybStatus,
    pub submitted_at: Option<UnixSeconds>,
    pub reviewer_note: Option<String>,
    #[schemars(range(min = 0))]
    pub document_count: i64,
}

#[derive(Serialize, JsonSchema)]
pub struct AdminKybAccount {
    pub id: AccountId,
    pub legal_name: String,
    pub trading_name: Option<String>,
    pub country: Country,
    pub contact_name: String,
    pub contact_email: Email,
    pub status: AccountStatus,
}

#[derive(Serialize, JsonSchema)]
pub struct AdminKybDocument {
    pub doc_id: KybDocumentId,
    pub doc_kind: DocKind,
    pub content_type: String,
    pub size_bytes: i64,
    pub uploaded_at: UnixSeconds,
    /// Where the file can be fetched for five minutes.
    pub download_url: String,
}

#[derive(Serialize, JsonSchema)]
pub struct AdminKybDetail {
    #[serde(flatten)]
    pub intake: ComplianceIntake,
    pub account_id: AccountId,
    pub account_summary: AdminKybAccount,
    pub documents: Vec<AdminKybDocument>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminKybActionRequest {
    /// Shown to the customer.
    #[serde(default)]
    pub reviewer_note: Option<Text<0, 2000>>,
}
