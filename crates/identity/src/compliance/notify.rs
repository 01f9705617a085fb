//! Mail and notifications about decisions on an intake.

use super::rules::Action;
use super::store::IntakeRow;
use super::types::Purpose;
use crate::notifications::{ComplianceMoreInfo, KybApproved, KybRejected, notify};
use crate::onboarding::OnboardingAccount;
use db::{Conn, DbError};
use platform::app::App;
use platform::mail::{DocumentSet, DocumentsApproved, DocumentsRejected, DocumentsRequested, Recipient, send};

/// Sends the mail and the notification of a decision; other actions send nothing.
pub async fn send_decision(
    conn: &mut Conn,
    app: &App,
    to: &OnboardingAccount,
    intake: &IntakeRow,
    action: Action,
) -> Result<(), DbError> {
    let documents = match intake.purpose {
        Purpose::Kyb => DocumentSet::Company,
        Purpose::RegulatoryDid => DocumentSet::NumberOrder,
    };
    let note = intake.reviewer_note.clone().filter(|note| !note.is_empty());
    notify_account(conn, intake, action, note.clone()).await?;
    let to = Recipient::new(&to.contact_email, &to.contact_name);
    match action {
        Action::Submit | Action::StartReview => Ok(()),
        Action::Approve => send(conn, app, &to, &DocumentsApproved { documents, note }).await,
        Action::Reject => send(conn, app, &to, &DocumentsRejected { documents, note }).await,
        Action::RequestMore => send(conn, app, &to, &DocumentsRequested { documents, note }).await,
    }
}

/// For a number order, approval and rejection are reported by the order itself.
async fn notify_account(
    conn: &mut Conn,
    intake: &IntakeRow,
    action: Action,
    note: Option<String>,
) -> Result<(), DbError> {
    let account = intake.account_id;
    match (action, intake.purpose) {
        (Action::Approve, Purpose::Kyb) => notify(conn, account, &KybApproved { note }).await,
        (Action::Reject, Purpose::Kyb) => notify(conn, account, &KybRejected { note }).await,
        (Action::RequestMore, _) => {
            let request = ComplianceMoreInfo { intake_id: intake.id.uuid(), note };
            notify(conn, account, &request).await
        }
        _ => Ok(()),
    }
}
