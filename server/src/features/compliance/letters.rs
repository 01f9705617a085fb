//! What became of an intake, by mail.

use super::rules::Move;
use super::store::IntakeRow;
use super::types::Purpose;
use crate::app::App;
use crate::db::{Conn, DbError};
use crate::features::letters::{Draft, send};
use crate::features::onboarding::Prospect;
use crate::values::Time;

/// Tells the customer of a decision; the steps on the way to one are nothing to write home about.
pub async fn decided(
    conn: &mut Conn,
    app: &App,
    to: &Prospect,
    intake: &IntakeRow,
    step: Move,
    now: Time,
) -> Result<(), DbError> {
    let papers = match intake.purpose {
        Purpose::Kyb => "your company's documents",
        Purpose::RegulatoryDid => "the documents for your number order",
    };
    let (subject, outcome) = match step {
        Move::Submit | Move::Review => return Ok(()),
        Move::Approve => ("Your documents were approved", "They were approved; there is nothing more for you to do."),
        Move::Reject => ("Your documents were not accepted", "We could not accept them."),
        Move::RequestMore => ("We need more documents", "We need something more from you before we can decide."),
    };
    let note = match intake.reviewer_note.as_deref().filter(|note| !note.is_empty()) {
        Some(note) => format!("Our reviewer writes:\n\n{note}\n\n"),
        None => String::new(),
    };
    let text = format!(
        "Hello {},\n\nwe looked at {papers}. {outcome}\n\n{note}Sign in at {} to see them.\n",
        to.contact_name, app.public_url,
    );
    send(conn, app, &Draft { to: to.contact_email.clone(), subject: subject.into(), text }, now).await
}
