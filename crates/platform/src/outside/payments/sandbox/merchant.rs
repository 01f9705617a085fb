//! What a merchant does without the payer: charging a saved card, and refunds.

use super::super::{ChargeRequest, Order, OrderState, ProviderError, Refund, RefundState};
use super::Sandbox;
use super::cards::year_and_month;
use super::store::{self, CardRow, NewOrder, NewRefund};
use db::DbError;
use values::{Money, Time};

/// Why a charge is declined, if it is.
fn decline(card: Option<&CardRow>, customer: Option<&str>, now: Time) -> Option<&'static str> {
    match card {
        None => Some("card_unknown"),
        Some(card) if customer.is_some_and(|customer| customer != card.customer) => Some("card_unknown"),
        Some(card) if (card.exp_year, card.exp_month) < year_and_month(now) => Some("card_expired"),
        Some(card) if card.declines_later => Some("card_declined"),
        Some(_) => None,
    }
}

impl Sandbox {
    pub(in super::super) async fn charge(&self, request: ChargeRequest) -> Result<Order, ProviderError> {
        let now = self.clock.now();
        let card = store::card(&mut *self.db.read().await?, &request.card_token).await?;
        let decline = decline(card.as_ref(), request.payer.provider_customer.as_deref(), now);
        let order = NewOrder {
            id: self.random_id(),
            reference: request.reference,
            amount: Some(request.amount),
            fingerprint: card.as_ref().and_then(|card| card.fingerprint.clone()),
            customer: card.map(|card| card.customer).unwrap_or_default(),
            customer_name: request.payer.name,
            customer_email: request.payer.email,
            save_card: false,
            return_url: String::new(),
            state: if decline.is_some() { OrderState::Failed } else { OrderState::Completed },
            decline,
            expires_at: now,
            now,
        };
        let charged = self
            .db
            .tx((self.clone(), order), |conn, (sandbox, order)| {
                Box::pin(async move {
                    if store::open_order(conn, order).await? {
                        sandbox.enqueue_callbacks(conn, &order.id, order.state).await?;
                    }
                    store::order_by_reference(conn, &order.reference).await?.ok_or(DbError::NotFound)
                })
            })
            .await?;
        Ok(charged.order(now))
    }

    pub(in super::super) async fn refund(
        &self,
        order_id: &str,
        amount: Money,
        reference: &str,
    ) -> Result<Refund, ProviderError> {
        let refund = NewRefund {
            id: self.random_id(),
            order_id: order_id.to_owned(),
            reference: reference.to_owned(),
            amount,
            now: self.clock.now(),
        };
        let (id, state) = self
            .db
            .tx(refund, |conn, refund| {
                Box::pin(async move {
                    if let Some(known) = store::refund_by_reference(conn, &refund.reference).await? {
                        return Ok(known);
                    }
                    let has_funds = store::deduct_refund(conn, refund).await?;
                    let state = if has_funds { RefundState::Completed } else { RefundState::Failed };
                    if !store::insert_refund(conn, refund, state).await? {
                        // A concurrent request inserted the same refund; the retry will find it.
                        return Err(conn.retry_conflict());
                    }
                    Ok((refund.id.clone(), state))
                })
            })
            .await?;
        Ok(Refund { id, state })
    }

    pub(in super::super) async fn find_refund(&self, reference: &str) -> Result<Option<Refund>, ProviderError> {
        let found = store::refund_by_reference(&mut *self.db.read().await?, reference).await?;
        Ok(found.map(|(id, state)| Refund { id, state }))
    }
}
