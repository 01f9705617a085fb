-- Until when a charge of a saved card is somebody's: nobody else asks the provider for it before.
ALTER TABLE payments ADD COLUMN sending_until BIGINT NOT NULL DEFAULT 0;
