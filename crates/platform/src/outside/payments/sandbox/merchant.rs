//! What the merchant does without its customer: charging a card that the sandbox keeps, and sending money back.

use super::super::{ChargeRequest, Order, OrderState, ProviderError, Refund, RefundState};
use super::Sandbox;
use super::cards::year_and_month;
use super::store::{self, CardRow, NewOrder, NewRefund};
use db::DbError;
use values::{Money, Time};

/// Why a card cannot be charged, if it cannot.
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
            id: self.fresh_name(),
            reference: request.reference,
            amount: Some(request.amount),
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
                        sandbox.tell(conn, &order.id, order.state, order.now).await?;
                    }
                    store::order_of(conn, &order.reference).await?.ok_or(DbError::NotFound)
                })
            })
            .await?;
        self.jobs_waker.notify_one();
        Ok(charged.order(now))
    }

    pub(in super::super) async fn refund(
        &self,
        order_id: &str,
        amount: Money,
        reference: &str,
    ) -> Result<Refund, ProviderError> {
        let refund = NewRefund {
            id: self.fresh_name(),
            order_id: order_id.to_owned(),
            reference: reference.to_owned(),
            amount,
            now: self.clock.now(),
        };
        let (id, state) = self
            .db
            .tx(refund, |conn, refund| {
                Box::pin(async move {
                    if let Some(known) = store::refund_of(conn, &refund.reference).await? {
                        return Ok(known);
                    }
                    let left = store::take_from_order(conn, refund).await?;
                    let state = if left { RefundState::Completed } else { RefundState::Failed };
                    if !store::insert_refund(conn, refund, state).await? {
                        // Somebody sent the same refund a moment ago; the next attempt will see it.
                        return Err(conn.retry_conflict());
                    }
                    Ok((refund.id.clone(), state))
                })
            })
            .await?;
        Ok(Refund { id, state })
    }
}
