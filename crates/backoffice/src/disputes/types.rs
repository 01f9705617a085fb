//! Request and response types of call disputes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::store::{DisputeId, DisputeRow};
use crate::tickets::TicketId;
use api::checks::{Checks, Given, must};
use identity::balance::{CURRENCY, check_amount};
use values::{AccountId, CallId, ExactMoney, Money, Rfc3339, Text, text_enum};

text_enum! {
    /// Status of a call dispute: `open` until the team decides, then `credited` or `rejected`.
    pub enum DisputeStatus {
        Open = "open",
        Credited = "credited",
        Rejected = "rejected",
    }
}

text_enum! {
    /// How a call dispute ends: `credit` returns money to the customer's balance, `reject` returns none.
    pub enum DisputeOutcome {
        Credit = "credit",
        Reject = "reject",
    }
}

/// Call whose charge a customer disputes.
#[derive(Serialize, JsonSchema)]
pub struct CallDispute {
    /// Id of the dispute.
    pub id: DisputeId,
    /// Id of the CDR of the disputed call.
    pub cdr_id: CallId,
    /// Id of the ticket with the conversation about it.
    pub ticket_id: TicketId,
    /// Why the customer disputes the charge.
    pub reason: Text<1, 2000>,
    /// Number that was called, in E.164 form.
    pub called: String,
    /// When the call began (RFC 3339, UTC).
    pub started_at: Rfc3339,
    /// What the call was charged when the dispute was opened, without VAT.
    pub charge: ExactMoney,
    /// Status of the dispute.
    pub status: DisputeStatus,
    /// What was credited, without VAT; null unless the dispute is `credited`.
    pub amount: Option<ExactMoney>,
    /// The team's explanation of its decision; null while the dispute is `open`.
    pub note: Option<Text<1, 300>>,
    /// When the team decided (RFC 3339, UTC); null while the dispute is `open`.
    pub resolved_at: Option<Rfc3339>,
    /// When the dispute was opened (RFC 3339, UTC).
    pub created_at: Rfc3339,
}

impl From<DisputeRow> for CallDispute {
    fn from(row: DisputeRow) -> Self {
        let money = |nanos| ExactMoney(Money::from_nanos(nanos, CURRENCY));
        CallDispute {
            id: row.id,
            cdr_id: row.cdr_id,
            ticket_id: row.ticket_id,
            reason: row.reason,
            called: row.called,
            started_at: row.started_at.into(),
            charge: money(row.charge),
            status: row.status,
            amount: row.amount.map(money),
            note: row.note,
            resolved_at: row.resolved_at.map(Rfc3339),
            created_at: row.created_at.into(),
        }
    }
}

/// Call dispute as the team sees it.
#[derive(Serialize, JsonSchema)]
pub struct AdminCallDispute {
    /// Id of the customer's account.
    pub account_id: AccountId,
    /// Id of the customer's account as a plain UUID, as in all lists of the team.
    pub customer_id: Uuid,
    /// Name of the customer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer_name: Option<String>,
    #[serde(flatten)]
    pub dispute: CallDispute,
}

impl AdminCallDispute {
    pub fn new(row: DisputeRow, customer_name: Option<String>) -> AdminCallDispute {
        let (account_id, customer_id) = (row.account_id, row.account_id.uuid());
        AdminCallDispute { account_id, customer_id, customer_name, dispute: row.into() }
    }
}

/// New dispute of a call.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallDisputeCreate {
    /// Why the charge is wrong, up to 2000 characters; the first message of the ticket.
    pub reason: Text<1, 2000>,
}

/// Decision about a call dispute.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallDisputeResolve {
    /// How the dispute ends.
    pub outcome: DisputeOutcome,
    /// What to credit in EUR, without VAT and at most the charge of the call; all of it when left out. Not with
    /// `reject`.
    #[serde(default)]
    pub amount: Option<Money>,
    /// Explanation for the customer: a message of the ticket, and the text beside the credit.
    pub note: Text<1, 300>,
}

impl Checks for CallDisputeResolve {
    fn check(given: &Given<'_>) {
        check_amount(given, "amount", |amount| must(amount.is_positive(), "must be above zero"));
        given.check_with("amount", "outcome", |_: Money, outcome: DisputeOutcome| {
            must(outcome == DisputeOutcome::Credit, "must be left out when the dispute is rejected")
        });
    }
}
