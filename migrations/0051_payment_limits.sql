-- Which card a payment was made with, in the words of its provider, and when; what was returned because the card was
-- used too often, and under which reference.
ALTER TABLE payments ADD COLUMN card TEXT;
ALTER TABLE payments ADD COLUMN card_used_at BIGINT;
ALTER TABLE payments ADD COLUMN return_id UUID;
ALTER TABLE payment_methods ADD COLUMN card TEXT;
CREATE INDEX payments_by_card ON payments (card, card_used_at) WHERE card IS NOT NULL;

-- A row for each card of the last days: its lock makes payments with one card count each other.
CREATE TABLE payment_cards (
    card         TEXT PRIMARY KEY NOT NULL,
    last_used_at BIGINT NOT NULL
);
CREATE INDEX payment_cards_by_use ON payment_cards (last_used_at);

-- The sandbox's own fingerprint of a card.
ALTER TABLE sandbox_orders ADD COLUMN fingerprint TEXT;
ALTER TABLE sandbox_cards ADD COLUMN fingerprint TEXT;

-- What is requested of another admin: a credit, or a credit line.
ALTER TABLE credits ADD COLUMN kind TEXT NOT NULL DEFAULT 'credit';
