//! What became of an intake, by mail and in the portal.

use super::rules::Move;
use super::store::IntakeRow;
use super::types::Purpose;
use crate::notifications::{ComplianceMoreInfo, KybApproved, KybRejected, notify};
use crate::onboarding::Prospect;
use db::{Conn, DbError};
use platform::app::App;
use platform::mail::{DocumentSet, DocumentsApproved, DocumentsRejected, DocumentsRequested, Recipient, send};
use values::Time;

/// Tells the customer of a decision; the steps on the way to one are nothing to write home about.
pub async fn decided(
    conn: &mut Conn,
    app: &App,
    to: &Prospect,
    intake: &IntakeRow,
    step: Move,
    now: Time,
) -> Result<(), DbError> {
    let documents = match intake.purpose {
        Purpose::Kyb => DocumentSet::Company,
        Purpose::RegulatoryDid => DocumentSet::NumberOrder,
    };
    let note = intake.reviewer_note.clone().filter(|note| !note.is_empty());
    tell(conn, app, intake, step, note.clone(), now).await?;
    let to = Recipient::new(&to.contact_email, &to.contact_name);
    match step {
        Move::Submit | Move::Review => Ok(()),
        Move::Approve => send(conn, app, &to, &DocumentsApproved { documents, note }, now).await,
        Move::Reject => send(conn, app, &to, &DocumentsRejected { documents, note }, now).await,
        Move::RequestMore => send(conn, app, &to, &DocumentsRequested { documents, note }, now).await,
    }
}

/// What became of the documents of a number order is told by the order.
async fn tell(
    conn: &mut Conn,
    app: &App,
    intake: &IntakeRow,
    step: Move,
    note: Option<String>,
    now: Time,
) -> Result<(), DbError> {
    let (entropy, account) = (app.entropy, intake.account_id);
    match (step, intake.purpose) {
        (Move::Approve, Purpose::Kyb) => notify(conn, entropy, account, &KybApproved { note }, now).await,
        (Move::Reject, Purpose::Kyb) => notify(conn, entropy, account, &KybRejected { note }, now).await,
        (Move::RequestMore, _) => {
            let wanted = ComplianceMoreInfo { intake_id: intake.id.uuid(), note };
            notify(conn, entropy, account, &wanted, now).await
        }
        _ => Ok(()),
    }
}
