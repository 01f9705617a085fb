//! Disputes of the sandbox: the payer's bank asks for a payment back, and decides. An order has at most one.

use super::super::{Dispute, DisputeState, ProviderError};
use super::store::{self, DisputeRow};
use super::{CALL_BACK, Sandbox, callback};
use crate::jobs::enqueue_at;
use db::{Conn, DbError};
use values::{Money, Time};

/// Disputes in one list.
const PAGE: i64 = 500;

impl From<DisputeRow> for Dispute {
    fn from(row: DisputeRow) -> Self {
        let amount = Money::from_nanos(row.amount, row.currency);
        Dispute { id: row.id, order_id: row.order_id, state: row.state, amount }
    }
}

impl Sandbox {
    pub(in super::super) async fn dispute(&self, id: &str) -> Result<Option<Dispute>, ProviderError> {
        let row = store::dispute(&mut *self.db.read().await?, id).await?;
        Ok(row.map(Dispute::from))
    }

    pub(in super::super) async fn disputes_since(&self, since: Time) -> Result<Vec<Dispute>, ProviderError> {
        let rows = store::disputes_since(&mut *self.db.read().await?, since, PAGE).await?;
        Ok(rows.into_iter().map(Dispute::from).collect())
    }

    /// Disputes the payment of an order, once.
    pub async fn dispute_order(&self, order_id: String) -> Result<(), DbError> {
        let work = (self.clone(), order_id, self.random_id());
        self.db.tx(work, |conn, (sandbox, order_id, id)| Box::pin(sandbox.open_dispute(conn, order_id, id))).await
    }

    /// Decides the dispute of an order, once.
    pub async fn decide_dispute(&self, order_id: String, state: DisputeState) -> Result<(), DbError> {
        let work = (self.clone(), order_id, state);
        self.db
            .tx(work, |conn, (sandbox, order_id, state)| {
                Box::pin(async move {
                    match store::decide_dispute(conn, order_id, *state).await? {
                        Some(id) => sandbox.enqueue_dispute(conn, &id, *state).await,
                        None => Ok(()),
                    }
                })
            })
            .await
    }

    pub(super) async fn open_dispute(&self, conn: &mut Conn, order_id: &str, id: &str) -> Result<(), DbError> {
        let is_new = store::open_dispute(conn, order_id, id).await?;
        if is_new { self.enqueue_dispute(conn, id, DisputeState::Open).await } else { Ok(()) }
    }

    async fn enqueue_dispute(&self, conn: &mut Conn, id: &str, state: DisputeState) -> Result<(), DbError> {
        let now = conn.now();
        for (state, run_at) in self.callbacks.plan(&[state], now) {
            enqueue_at(conn, CALL_BACK, callback::dispute_payload(id, state), run_at).await?;
        }
        Ok(())
    }
}
