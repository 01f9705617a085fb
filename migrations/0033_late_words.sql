-- Calls that are over, but not for sure: no switch spoke of them any more, or an end was told that said nothing of an
-- answer. What is told late still counts for them; a row goes when there is nothing left to tell.
CREATE TABLE open_ends (
    token            UUID PRIMARY KEY NOT NULL,
    -- Whether the end was told, so that only an answer can still be.
    is_end_told      BOOLEAN NOT NULL,
    -- The answer and the end, or the last that was heard, by the switch's clock.
    answered_at      BIGINT,
    ended_at         BIGINT NOT NULL,
    -- Who might carry it, as JSON, and for how many seconds from the answer there was money.
    routes           TEXT NOT NULL,
    reserved_seconds BIGINT NOT NULL,
    closed_at        BIGINT NOT NULL
);
CREATE INDEX open_ends_by_age ON open_ends (closed_at);

-- What a late word added to a record whose charge another transaction of the ledger had taken by then.
CREATE TABLE cdr_amendments (
    id               UUID PRIMARY KEY NOT NULL,
    cdr_id           UUID NOT NULL,
    started_at       BIGINT NOT NULL,
    account_id       UUID NOT NULL,
    country          TEXT NOT NULL,
    destination_name TEXT NOT NULL,
    billed_seconds   BIGINT NOT NULL,
    charge           BIGINT NOT NULL CONSTRAINT cdr_amendment_is_no_gift CHECK (charge >= 0),
    -- Absent when nothing more was charged.
    ledger_id        UUID,
    recorded_at      BIGINT NOT NULL
);
CREATE INDEX cdr_amendments_of_ledger ON cdr_amendments (ledger_id) WHERE ledger_id IS NOT NULL;
