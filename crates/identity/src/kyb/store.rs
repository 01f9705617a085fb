//! The team's list of KYB intakes. Read-only; `compliance::store` writes them.

use super::types::KybStatus;
use crate::compliance::IntakeStatus;
use db::{Conn, DbError, params, row, sql};
use values::{AccountId, KybId, Time};

row! {
    pub struct KybListRow {
        pub id: KybId,
        pub account_id: AccountId,
        pub account_legal_name: String,
        pub status: IntakeStatus,
        pub submitted_at: Option<Time>,
        pub reviewer_note: Option<String>,
        pub document_count: i64,
        pub created_at: Time,
    }
}

/// KYB intakes, newest first.
pub async fn list(
    conn: &mut Conn,
    status: Option<KybStatus>,
    after: (Time, KybId),
    limit: i64,
) -> Result<Vec<KybListRow>, DbError> {
    let (at, id) = after;
    let Some(status) = status else {
        return conn
            .all(
                sql!(
                    "SELECT i.id, i.account_id, a.company_name, i.status, i.submitted_at, i.reviewer_note,
                            (SELECT COUNT(*) FROM intake_documents d WHERE d.intake_id = i.id), i.created_at
                     FROM intakes i JOIN accounts a ON a.id = i.account_id
                     WHERE i.purpose = 'kyb' AND (i.created_at, i.id) < ($1, $2)
                     ORDER BY i.created_at DESC, i.id DESC LIMIT $3"
                ),
                params![at, id, limit],
            )
            .await;
    };
    let [one, other] = statuses(status);
    conn.all(
        sql!(
            "SELECT i.id, i.account_id, a.company_name, i.status, i.submitted_at, i.reviewer_note,
                    (SELECT COUNT(*) FROM intake_documents d WHERE d.intake_id = i.id), i.created_at
             FROM intakes i JOIN accounts a ON a.id = i.account_id
             WHERE i.purpose = 'kyb' AND i.status IN ($1, $2) AND (i.created_at, i.id) < ($3, $4)
             ORDER BY i.created_at DESC, i.id DESC LIMIT $5"
        ),
        params![one, other, at, id, limit],
    )
    .await
}

/// The intake statuses that a KYB status stands for.
fn statuses(status: KybStatus) -> [IntakeStatus; 2] {
    match status {
        KybStatus::Open => [IntakeStatus::Draft, IntakeStatus::MoreInfoRequested],
        KybStatus::Submitted => [IntakeStatus::Submitted, IntakeStatus::UnderReview],
        KybStatus::Approved => [IntakeStatus::Approved; 2],
        KybStatus::Rejected => [IntakeStatus::Rejected; 2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_matches_the_status_that_is_shown() {
        for &status in KybStatus::ALL {
            for &state in IntakeStatus::ALL {
                assert_eq!(statuses(status).contains(&state), KybStatus::from(state) == status, "{status} {state}");
            }
        }
    }
}
