CREATE TABLE jobs (
    id           BLOB PRIMARY KEY NOT NULL,
    kind         TEXT NOT NULL,
    payload      TEXT NOT NULL,
    run_at       INTEGER NOT NULL,
    attempts     INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    lease_until  INTEGER NOT NULL,
    lease_token  BLOB,
    last_error   TEXT,
    dead_at      INTEGER,
    created_at   INTEGER NOT NULL
, class TEXT NOT NULL DEFAULT 'bulk', unique_key TEXT) STRICT;
CREATE TABLE schedules (
    name        TEXT PRIMARY KEY NOT NULL,
    next_run_at INTEGER NOT NULL
) STRICT;
CREATE TABLE installation (
    id          INTEGER PRIMARY KEY NOT NULL CONSTRAINT installation_is_one CHECK (id = 1),
    master_mark BLOB NOT NULL
, previous_mark BLOB, is_demo INTEGER NOT NULL DEFAULT FALSE, has_demo_password INTEGER NOT NULL DEFAULT FALSE) STRICT;
CREATE TABLE accounts (
    id                BLOB PRIMARY KEY NOT NULL,
    company_name      TEXT NOT NULL,
    locale            TEXT NOT NULL,
    postal_address    TEXT,
    invoice_address   TEXT,
    vat_id            TEXT,
    vat_status        TEXT NOT NULL,
    contact_name      TEXT NOT NULL,
    contact_email     TEXT NOT NULL,
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL
, trading_name TEXT, country TEXT NOT NULL DEFAULT 'ZZ', contact_phone TEXT, account_manager_id BLOB REFERENCES account_managers (id)) STRICT;
CREATE TABLE users (
    id            BLOB PRIMARY KEY NOT NULL,
    account_id    BLOB NOT NULL REFERENCES accounts (id),
    email         TEXT NOT NULL,
    name          TEXT NOT NULL,
    roles         TEXT NOT NULL,
    -- Absent until the user chose one: a magic link is then the only way in.
    password_hash TEXT,
    is_active     INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL, email_verified_at INTEGER, account_role TEXT NOT NULL DEFAULT 'owner', is_invited INTEGER NOT NULL DEFAULT FALSE, invited_email TEXT, last_sign_in_at INTEGER, deleted_at INTEGER, is_blocked INTEGER NOT NULL DEFAULT FALSE,
    UNIQUE (email)
) STRICT;
CREATE TABLE first_admin (
    id         INTEGER PRIMARY KEY NOT NULL CONSTRAINT first_admin_is_one CHECK (id = 1),
    user_id    BLOB NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE TABLE sessions (
    id           BLOB PRIMARY KEY NOT NULL,
    user_id      BLOB NOT NULL REFERENCES users (id),
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    ended_at     INTEGER,
    ip           TEXT NOT NULL,
    user_agent   TEXT
, authenticated_at INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE refresh_tokens (
    token_hash BLOB PRIMARY KEY NOT NULL,
    session_id BLOB NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    -- The token that was spent for this one.
    parent     BLOB,
    used_at    INTEGER,
    created_at INTEGER NOT NULL
) STRICT;
CREATE TABLE access_tokens (
    jti        BLOB PRIMARY KEY NOT NULL,
    user_id    BLOB NOT NULL REFERENCES users (id),
    session_id BLOB REFERENCES sessions (id) ON DELETE CASCADE,
    expires_at INTEGER NOT NULL,
    revoked_at INTEGER
, impersonator_id BLOB REFERENCES users (id), authenticated_at INTEGER NOT NULL DEFAULT 0, is_read_only INTEGER NOT NULL DEFAULT FALSE) STRICT;
CREATE TABLE link_tokens (
    token_hash BLOB PRIMARY KEY NOT NULL,
    purpose    TEXT NOT NULL,
    user_id    BLOB NOT NULL REFERENCES users (id),
    expires_at INTEGER NOT NULL,
    used_at    INTEGER
) STRICT;
CREATE TABLE sign_in_failures (
    subject      BLOB PRIMARY KEY NOT NULL,
    failures     INTEGER NOT NULL,
    locked_until INTEGER NOT NULL,
    failed_at    INTEGER NOT NULL
, user_id BLOB) STRICT;
CREATE TABLE two_factor_seeds (
    user_id      BLOB PRIMARY KEY NOT NULL REFERENCES users (id),
    -- Sealed with the key for seeds.
    seed         BLOB NOT NULL,
    confirmed_at INTEGER,
    -- The time step of the last accepted code: no code is accepted twice.
    last_step    INTEGER NOT NULL,
    last_used_at INTEGER,
    created_at   INTEGER NOT NULL
) STRICT;
CREATE TABLE recovery_codes (
    code_hash BLOB PRIMARY KEY NOT NULL,
    user_id   BLOB NOT NULL REFERENCES users (id),
    used_at   INTEGER
) STRICT;
CREATE TABLE two_factor_challenges (
    jti        BLOB PRIMARY KEY NOT NULL,
    user_id    BLOB NOT NULL REFERENCES users (id),
    tries      INTEGER NOT NULL,
    used_at    INTEGER,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE TABLE audit_log (
    seq        INTEGER PRIMARY KEY NOT NULL,
    id         BLOB NOT NULL,
    ts         INTEGER NOT NULL,
    action     TEXT NOT NULL,
    account_id BLOB,
    user_id    BLOB,
    actor      TEXT,
    ip         TEXT,
    user_agent TEXT,
    outcome    TEXT NOT NULL,
    reason     TEXT,
    meta       TEXT,
    hash       BLOB NOT NULL,
    UNIQUE (id)
) STRICT;
CREATE TABLE audit_head (
    id   INTEGER PRIMARY KEY NOT NULL CONSTRAINT audit_head_is_one CHECK (id = 1),
    seq  INTEGER NOT NULL,
    hash BLOB NOT NULL
) STRICT;
CREATE TABLE idempotency_keys (
    owner       BLOB NOT NULL,
    method      TEXT NOT NULL,
    path        TEXT NOT NULL,
    key         BLOB NOT NULL,
    body_digest BLOB NOT NULL,
    created_at  INTEGER NOT NULL,
    status      INTEGER,
    headers     TEXT,
    -- Sealed with the key for stored responses.
    body        BLOB,
    PRIMARY KEY (owner, method, path, key)
) STRICT;
CREATE TABLE rate_windows (
    limit_name TEXT NOT NULL,
    subject    BLOB NOT NULL,
    started_at INTEGER NOT NULL,
    used       INTEGER NOT NULL,
    PRIMARY KEY (limit_name, subject, started_at)
) STRICT;
CREATE TABLE onboardings (
    account_id         BLOB PRIMARY KEY NOT NULL REFERENCES accounts (id),
    -- The carrier's own account is nobody's customer.
    is_carrier         INTEGER NOT NULL,
    beta_status        TEXT NOT NULL,
    onboarding_status  TEXT NOT NULL,
    -- The status to return to; present exactly while suspended.
    suspended_from     TEXT,
    reviewer_note      TEXT,
    expected_volume    TEXT,
    topped_up_at       INTEGER,
    waitlist_ticket    INTEGER,
    waitlist_joined_at INTEGER,
    created_at         INTEGER NOT NULL,
    updated_at         INTEGER NOT NULL, beta_approved_at INTEGER, beta_declined_at INTEGER, suspension_reason TEXT,
    UNIQUE (waitlist_ticket)
) STRICT;
CREATE TABLE prospect_counts (
    beta_status TEXT PRIMARY KEY NOT NULL,
    accounts    INTEGER NOT NULL
) STRICT;
CREATE TABLE waitlist_tail (
    id     INTEGER PRIMARY KEY NOT NULL CONSTRAINT waitlist_tail_is_one CHECK (id = 1),
    ticket INTEGER NOT NULL
) STRICT;
CREATE TABLE traffic_profiles (
    account_id                  BLOB PRIMARY KEY NOT NULL REFERENCES accounts (id),
    estimated_minutes_per_month INTEGER NOT NULL,
    target_countries            TEXT NOT NULL,
    traffic_types               TEXT NOT NULL,
    notes                       TEXT,
    created_at                  INTEGER NOT NULL,
    updated_at                  INTEGER NOT NULL
) STRICT;
CREATE TABLE intakes (
    id                  BLOB PRIMARY KEY NOT NULL,
    account_id          BLOB NOT NULL REFERENCES accounts (id),
    purpose             TEXT NOT NULL,
    status              TEXT NOT NULL,
    related_resource_id BLOB,
    -- Kinds of document, separated by spaces.
    required_docs       TEXT NOT NULL,
    reviewer_note       TEXT,
    submitted_at        INTEGER,
    reviewed_at         INTEGER,
    created_at          INTEGER NOT NULL,
    updated_at          INTEGER NOT NULL
) STRICT;
CREATE TABLE intake_documents (
    id            BLOB PRIMARY KEY NOT NULL,
    intake_id     BLOB NOT NULL REFERENCES intakes (id),
    kind          TEXT NOT NULL,
    file_name     TEXT NOT NULL,
    content_type  TEXT NOT NULL,
    size_bytes    INTEGER NOT NULL,
    content_hash  BLOB NOT NULL,
    status        TEXT NOT NULL,
    reject_reason TEXT,
    uploaded_at   INTEGER NOT NULL
) STRICT;
CREATE TABLE card_verifications (
    id                BLOB PRIMARY KEY NOT NULL,
    account_id        BLOB NOT NULL REFERENCES accounts (id),
    status            TEXT NOT NULL,
    provider          TEXT NOT NULL,
    -- The caller's key, while the verification is open: a retry finds what it began.
    request_key       BLOB,
    -- Absent until the provider has answered.
    provider_order_id TEXT,
    checkout_url      TEXT,
    brand             TEXT,
    last4             TEXT,
    exp_month         INTEGER,
    exp_year          INTEGER,
    -- When to ask the provider again; absent once it is settled.
    poll_at           INTEGER,
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL
) STRICT;
CREATE TABLE payment_callbacks (
    provider    TEXT NOT NULL,
    order_id    TEXT NOT NULL,
    event       TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    PRIMARY KEY (provider, order_id, event)
) STRICT;
CREATE TABLE sandbox_orders (
    id             TEXT PRIMARY KEY NOT NULL,
    -- What the merchant calls it: a second order under the same name is the first one.
    reference      TEXT NOT NULL,
    customer_name  TEXT NOT NULL,
    customer_email TEXT NOT NULL,
    return_url     TEXT NOT NULL,
    state          TEXT NOT NULL,
    brand          TEXT,
    last4          TEXT,
    exp_month      INTEGER,
    exp_year       INTEGER,
    -- Whether the card will refuse what the merchant charges later by itself.
    declines_later INTEGER NOT NULL,
    expires_at     INTEGER NOT NULL,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL, amount INTEGER, currency TEXT, refunded INTEGER NOT NULL DEFAULT 0, save_card INTEGER NOT NULL DEFAULT TRUE, customer TEXT NOT NULL DEFAULT '', card_token TEXT, decline TEXT, fingerprint TEXT,
    UNIQUE (reference)
) STRICT;
CREATE TABLE ledger_balances (
    account_id    BLOB NOT NULL REFERENCES accounts (id),
    currency      TEXT NOT NULL,
    balance       INTEGER NOT NULL
        CONSTRAINT ledger_balance_in_range CHECK (balance BETWEEN -2000000000000000000 AND 2000000000000000000),
    -- The sum of the open holds.
    held          INTEGER NOT NULL CONSTRAINT ledger_held_in_range CHECK (held BETWEEN 0 AND 2000000000000000000),
    -- Guarded debits and holds leave this much; negative where the customer has credit.
    minimum       INTEGER NOT NULL
        CONSTRAINT ledger_minimum_in_range CHECK (minimum BETWEEN -2000000000000000000 AND 2000000000000000000),
    -- How many transactions there were: the number of the last one.
    entries       INTEGER NOT NULL,
    last_debit_at INTEGER, low_water INTEGER, posted_at INTEGER,
    PRIMARY KEY (account_id, currency)
) STRICT;
CREATE TABLE "ledger_book_days" (
    account_id BLOB NOT NULL,
    currency   TEXT NOT NULL,
    -- Days since 1970.
    day        INTEGER NOT NULL,
    kind       TEXT NOT NULL,
    book       TEXT NOT NULL,
    amount     INTEGER NOT NULL
        CONSTRAINT ledger_day_in_range CHECK (amount BETWEEN -4000000000000000000 AND 4000000000000000000),
    entries    INTEGER NOT NULL,
    PRIMARY KEY (account_id, currency, day, kind, book),
    FOREIGN KEY (account_id, currency) REFERENCES ledger_balances (account_id, currency)
) STRICT;
CREATE TABLE ledger_holds (
    kind       TEXT NOT NULL,
    reference  TEXT NOT NULL,
    account_id BLOB NOT NULL,
    currency   TEXT NOT NULL,
    -- What it was placed with, and what it is now.
    placed     INTEGER NOT NULL,
    amount     INTEGER NOT NULL CONSTRAINT ledger_hold_in_range CHECK (amount BETWEEN 0 AND 2000000000000000000),
    state      TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    ended_at   INTEGER,
    PRIMARY KEY (kind, reference),
    FOREIGN KEY (account_id, currency) REFERENCES ledger_balances (account_id, currency)
) STRICT;
CREATE TABLE notifications (
    id         BLOB PRIMARY KEY NOT NULL,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    code       TEXT NOT NULL,
    severity   TEXT NOT NULL,
    -- JSON; its fields depend on the code.
    payload    TEXT NOT NULL,
    read_at    INTEGER,
    created_at INTEGER NOT NULL
) STRICT;
CREATE TABLE balance_settings (
    account_id          BLOB PRIMARY KEY NOT NULL REFERENCES accounts (id),
    soft_warn_threshold INTEGER NOT NULL,
    updated_at          INTEGER NOT NULL
) STRICT;
CREATE TABLE low_balance_settings (
    account_id    BLOB PRIMARY KEY NOT NULL REFERENCES accounts (id),
    enabled       INTEGER NOT NULL,
    threshold_pct INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL
) STRICT;
CREATE TABLE balance_watches (
    account_id   BLOB PRIMARY KEY NOT NULL REFERENCES accounts (id),
    low_at       INTEGER,
    exhausted_at INTEGER
) STRICT;
CREATE TABLE auto_recharges (
    account_id        BLOB PRIMARY KEY NOT NULL REFERENCES accounts (id),
    enabled           INTEGER NOT NULL,
    threshold         INTEGER NOT NULL,
    recharge_amount   INTEGER NOT NULL,
    payment_method_id BLOB,
    -- In a row, and when the last one was.
    declines          INTEGER NOT NULL,
    declined_at       INTEGER,
    updated_at        INTEGER NOT NULL
) STRICT;
CREATE TABLE recharge_attempts (
    id                BLOB PRIMARY KEY NOT NULL,
    account_id        BLOB NOT NULL REFERENCES accounts (id),
    payment_method_id BLOB NOT NULL,
    amount            INTEGER NOT NULL,
    status            TEXT NOT NULL,
    started_at        INTEGER NOT NULL,
    ended_at          INTEGER
) STRICT;
CREATE TABLE dunning_reasons (
    account_id BLOB NOT NULL REFERENCES accounts (id),
    reason     TEXT NOT NULL,
    since      INTEGER NOT NULL,
    PRIMARY KEY (account_id, reason)
) STRICT;
CREATE TABLE fx_rates (
    date     TEXT NOT NULL,
    currency TEXT NOT NULL,
    rate     INTEGER NOT NULL CONSTRAINT fx_rate_is_positive CHECK (rate > 0),
    PRIMARY KEY (date, currency)
) STRICT;
CREATE TABLE vat_profiles (
    account_id    BLOB PRIMARY KEY NOT NULL REFERENCES accounts (id),
    -- Decided by the team in place of the rules.
    treatment     TEXT,
    -- Sells telecommunication on, and so owes the VAT itself at home too.
    is_reseller   INTEGER NOT NULL,
    -- The id that was last looked at, and when.
    checked_id    TEXT,
    checked_at    INTEGER,
    -- When to look next; absent while there is no need.
    next_check_at INTEGER,
    -- How often nobody answered since somebody did.
    failures      INTEGER NOT NULL
, treatment_vat_id TEXT) STRICT;
CREATE TABLE vat_checks (
    id                 BLOB PRIMARY KEY NOT NULL,
    account_id         BLOB NOT NULL REFERENCES accounts (id),
    vat_id             TEXT NOT NULL,
    is_valid           INTEGER NOT NULL,
    request_identifier TEXT,
    name               TEXT,
    address            TEXT,
    checked_at         INTEGER NOT NULL
) STRICT;
CREATE TABLE vat_proofs (
    id           BLOB PRIMARY KEY NOT NULL,
    account_id   BLOB NOT NULL REFERENCES accounts (id),
    file_name    TEXT NOT NULL,
    content_type TEXT NOT NULL,
    size_bytes   INTEGER NOT NULL,
    content_hash BLOB NOT NULL,
    uploaded_at  INTEGER NOT NULL
) STRICT;
CREATE TABLE invoice_numbers (
    series TEXT NOT NULL,
    year   INTEGER NOT NULL,
    last   INTEGER NOT NULL,
    PRIMARY KEY (series, year)
) STRICT;
CREATE TABLE invoice_months (
    month     TEXT PRIMARY KEY NOT NULL,
    closed_at INTEGER NOT NULL
) STRICT;
CREATE TABLE invoices (
    id              BLOB PRIMARY KEY NOT NULL,
    account_id      BLOB NOT NULL REFERENCES accounts (id),
    currency        TEXT NOT NULL,
    month           TEXT NOT NULL,
    number          TEXT NOT NULL,
    status          TEXT NOT NULL,
    issue_date      TEXT NOT NULL,
    supply_date     TEXT NOT NULL,
    due_date        TEXT NOT NULL,
    -- In nanos; the total is the sum of the two.
    subtotal        INTEGER NOT NULL,
    vat             INTEGER NOT NULL,
    -- What was lacking on the balance at the issue, and what had been paid in that day already.
    owed            INTEGER NOT NULL,
    paid_in_before  INTEGER NOT NULL,
    paid_at         INTEGER,
    -- Why it was voided or credited.
    reason          TEXT,
    -- All that the document says, so that it can be made again to the byte.
    facts           TEXT NOT NULL,
    -- The document, once it is made.
    content_hash    BLOB,
    created_at      INTEGER NOT NULL,
    UNIQUE (account_id, currency, month),
    UNIQUE (number)
) STRICT;
CREATE TABLE credit_notes (
    invoice_id   BLOB PRIMARY KEY NOT NULL REFERENCES invoices (id),
    number       TEXT NOT NULL,
    issue_date   TEXT NOT NULL,
    facts        TEXT NOT NULL,
    content_hash BLOB,
    created_at   INTEGER NOT NULL,
    UNIQUE (number)
) STRICT;
CREATE TABLE payment_methods (
    id                BLOB PRIMARY KEY NOT NULL,
    account_id        BLOB NOT NULL REFERENCES accounts (id),
    provider          TEXT NOT NULL,
    -- What the provider calls the card and its holder.
    provider_customer TEXT,
    token             TEXT NOT NULL,
    brand             TEXT NOT NULL,
    last4             TEXT NOT NULL,
    exp_month         INTEGER NOT NULL,
    exp_year          INTEGER NOT NULL,
    is_default        INTEGER NOT NULL,
    created_at        INTEGER NOT NULL
, card TEXT) STRICT;
CREATE TABLE payments (
    id                BLOB PRIMARY KEY NOT NULL,
    account_id        BLOB NOT NULL REFERENCES accounts (id),
    purpose           TEXT NOT NULL,
    status            TEXT NOT NULL,
    provider          TEXT NOT NULL,
    -- Absent until the provider has answered.
    provider_order_id TEXT,
    -- The saved card that is charged.
    method_id         BLOB,
    -- Nanos. A card that is only saved costs nothing.
    amount            INTEGER,
    currency          TEXT,
    -- What went back, or is on its way.
    refunded          INTEGER NOT NULL,
    -- The balance that its ledger entry left.
    balance_after     INTEGER,
    -- Why the provider refused.
    decline           TEXT,
    -- Who asked, in words of its own: a retry finds what it began.
    request_key       BLOB,
    request_digest    BLOB,
    -- When to ask the provider again; absent once there is nothing left to hear.
    poll_at           INTEGER,
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL,
    completed_at      INTEGER, sending_until INTEGER NOT NULL DEFAULT 0, card TEXT, card_used_at INTEGER, return_id BLOB, checkout_url TEXT,
    CONSTRAINT payments_amount_known CHECK ((purpose = 'card') = (amount IS NULL) AND (amount IS NULL) = (currency IS NULL)),
    CONSTRAINT payments_refunded_in_range CHECK (refunded >= 0 AND refunded <= COALESCE(amount, 0))
) STRICT;
CREATE TABLE refunds (
    id             BLOB PRIMARY KEY NOT NULL,
    payment_id     BLOB NOT NULL REFERENCES payments (id),
    status         TEXT NOT NULL,
    amount         INTEGER NOT NULL CONSTRAINT refunds_amount_positive CHECK (amount > 0),
    reason         TEXT NOT NULL,
    requested_by   BLOB NOT NULL REFERENCES users (id),
    request_key    BLOB NOT NULL,
    request_digest BLOB NOT NULL,
    poll_at        INTEGER,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL
) STRICT;
CREATE TABLE sandbox_cards (
    token          TEXT PRIMARY KEY NOT NULL,
    customer       TEXT NOT NULL,
    exp_month      INTEGER NOT NULL,
    exp_year       INTEGER NOT NULL,
    declines_later INTEGER NOT NULL,
    created_at     INTEGER NOT NULL
, fingerprint TEXT) STRICT;
CREATE TABLE sandbox_refunds (
    id         TEXT PRIMARY KEY NOT NULL,
    order_id   TEXT NOT NULL REFERENCES sandbox_orders (id),
    reference  TEXT NOT NULL,
    amount     INTEGER NOT NULL,
    state      TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (reference)
) STRICT;
CREATE TABLE versions (
    name       TEXT PRIMARY KEY NOT NULL,
    version    INTEGER NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT;
CREATE TABLE upstreams (
    id                   BLOB PRIMARY KEY NOT NULL,
    name                 TEXT NOT NULL,
    status               TEXT NOT NULL,
    health               TEXT NOT NULL,
    dispatcher_group_id  INTEGER NOT NULL,
    base_currency        TEXT NOT NULL,
    -- In parts per million.
    markup               INTEGER NOT NULL CONSTRAINT upstream_markup_is_within CHECK (markup BETWEEN 0 AND 10000000),
    rate_import_url      TEXT,
    rate_import_schedule TEXT,
    -- When the schedule ticks next.
    next_import_at       INTEGER,
    -- What the deck in force was pulled as, if it was: neither is imported a second time in a row.
    pulled_hash          BLOB,
    pulled_etag          TEXT,
    -- Lists, as JSON.
    gateways             TEXT NOT NULL,
    signaling_ips        TEXT NOT NULL,
    -- The deck in force.
    deck_id              BLOB,
    last_import_at       INTEGER,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL, health_at INTEGER,
    UNIQUE (dispatcher_group_id)
) STRICT;
CREATE TABLE decks (
    id           BLOB PRIMARY KEY NOT NULL,
    upstream_id  BLOB NOT NULL REFERENCES upstreams (id),
    -- Absent until it has come into force.
    in_force_at  INTEGER,
    prefixes     INTEGER NOT NULL,
    created_at   INTEGER NOT NULL
, waive_reason TEXT) STRICT;
CREATE TABLE deck_leaves (
    deck_id      BLOB NOT NULL REFERENCES decks (id),
    -- As a number that sorts as the digits do.
    first_prefix INTEGER NOT NULL,
    body         BLOB NOT NULL,
    PRIMARY KEY (deck_id, first_prefix)
) STRICT;
CREATE TABLE deck_imports (
    id           BLOB PRIMARY KEY NOT NULL,
    upstream_id  BLOB NOT NULL REFERENCES upstreams (id),
    status       TEXT NOT NULL,
    mode         TEXT NOT NULL,
    dry_run      INTEGER NOT NULL,
    -- The file; absent until it was pulled.
    content_hash BLOB,
    etag         TEXT,
    -- The job that runs it, and the deck it makes.
    job_id       BLOB,
    deck_id      BLOB,
    rows_done    INTEGER NOT NULL,
    rows_total   INTEGER,
    added        INTEGER NOT NULL,
    removed      INTEGER NOT NULL,
    increased    INTEGER NOT NULL,
    decreased    INTEGER NOT NULL,
    -- Whether what was pulled is what is in force already.
    unchanged    INTEGER NOT NULL,
    error_count  INTEGER NOT NULL,
    -- The first of them, as JSON.
    errors       TEXT NOT NULL,
    -- Why it failed, if not for what the file says.
    reason       TEXT,
    created_at   INTEGER NOT NULL,
    started_at   INTEGER,
    completed_at INTEGER
, mapping TEXT, impact TEXT, held_for TEXT, approved_at INTEGER, unverified_sender INTEGER NOT NULL DEFAULT FALSE, waive_reason TEXT) STRICT;
CREATE TABLE tariff_terms (
    upstream_id BLOB NOT NULL REFERENCES upstreams (id),
    since       INTEGER NOT NULL,
    version     INTEGER NOT NULL,
    deck_id     BLOB,
    status      TEXT NOT NULL,
    markup      INTEGER NOT NULL,
    currency    TEXT NOT NULL,
    PRIMARY KEY (upstream_id, since)
) STRICT;
CREATE TABLE tariff_fx (
    since    INTEGER NOT NULL,
    version  INTEGER NOT NULL,
    date     TEXT NOT NULL,
    currency TEXT NOT NULL,
    rate     INTEGER NOT NULL,
    PRIMARY KEY (since, currency)
) STRICT;
CREATE TABLE trunks (
    id          BLOB PRIMARY KEY NOT NULL,
    account_id  BLOB NOT NULL REFERENCES accounts (id),
    name        TEXT NOT NULL,
    zone        TEXT NOT NULL,
    channel_cap INTEGER NOT NULL CONSTRAINT trunk_carries_calls CHECK (channel_cap >= 1),
    -- New calls in a second; absent means any number.
    cps_limit   INTEGER CONSTRAINT trunk_takes_calls CHECK (cps_limit >= 1),
    -- Where calls to its numbers go.
    inbound_uri TEXT,
    is_default  INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL
, allowed_inbound_host TEXT) STRICT;
CREATE TABLE fraud_caps (
    account_id          BLOB PRIMARY KEY NOT NULL REFERENCES accounts (id),
    max_spend_per_day   INTEGER NOT NULL CONSTRAINT daily_cap_is_positive CHECK (max_spend_per_day > 0),
    max_rate_per_minute INTEGER NOT NULL CONSTRAINT rate_cap_is_positive CHECK (max_rate_per_minute > 0),
    updated_at          INTEGER NOT NULL
) STRICT;
CREATE TABLE number_groups (
    id           BLOB PRIMARY KEY NOT NULL,
    country      TEXT NOT NULL,
    kind         TEXT NOT NULL,
    -- Empty when the numbers belong to no area.
    area_name    TEXT NOT NULL,
    -- Digits, country code first; and what of them follows the country code.
    prefix       TEXT NOT NULL,
    area_code    TEXT NOT NULL,
    -- Words in one order.
    capabilities TEXT NOT NULL,
    -- In nanos of the house currency.
    monthly      INTEGER NOT NULL CONSTRAINT number_rental_is_a_price CHECK (monthly >= 0),
    setup        INTEGER NOT NULL CONSTRAINT number_setup_is_a_price CHECK (setup >= 0),
    regulatory   TEXT NOT NULL,
    -- How many of its numbers are free, kept with every change of one.
    free         INTEGER NOT NULL CONSTRAINT free_numbers_are_counted CHECK (free >= 0),
    UNIQUE (country, kind, prefix, area_name, capabilities, monthly, setup, regulatory)
) STRICT;
CREATE TABLE number_stock (
    id                  BLOB PRIMARY KEY NOT NULL,
    upstream_id         BLOB NOT NULL REFERENCES upstreams (id),
    e164                TEXT NOT NULL,
    group_id            BLOB NOT NULL REFERENCES number_groups (id),
    country             TEXT NOT NULL,
    -- What the upstream says, and what the team says instead; the group has what counts.
    regulatory          TEXT NOT NULL,
    regulatory_override TEXT,
    -- Whether it may be let; one that somebody has stays with that customer either way.
    is_active           INTEGER NOT NULL,
    -- free, withdrawn (nobody has it, and nobody may) or taken.
    state               TEXT NOT NULL,
    updated_at          INTEGER NOT NULL,
    UNIQUE (e164)
) STRICT;
CREATE TABLE number_arrivals (
    e164       TEXT PRIMARY KEY NOT NULL,
    group_id   BLOB NOT NULL,
    country    TEXT NOT NULL,
    regulatory TEXT NOT NULL
) STRICT;
CREATE TABLE number_imports (
    id           BLOB PRIMARY KEY NOT NULL,
    upstream_id  BLOB NOT NULL REFERENCES upstreams (id),
    status       TEXT NOT NULL,
    content_hash BLOB NOT NULL,
    -- The job that runs it.
    job_id       BLOB,
    -- How many of its numbers are in the stock: should the job be interrupted, it goes on from there.
    rows_done    INTEGER NOT NULL,
    rows_total   INTEGER NOT NULL,
    added        INTEGER NOT NULL,
    changed      INTEGER NOT NULL,
    -- Numbers that a customer has, which stay as they are.
    kept         INTEGER NOT NULL,
    error_count  INTEGER NOT NULL,
    -- The first of them, as JSON.
    errors       TEXT NOT NULL,
    -- Why it failed, if not for what the file says.
    reason       TEXT,
    created_at   INTEGER NOT NULL,
    started_at   INTEGER,
    completed_at INTEGER
) STRICT;
CREATE TABLE number_orders (
    id             BLOB PRIMARY KEY NOT NULL,
    account_id     BLOB NOT NULL REFERENCES accounts (id),
    group_id       BLOB NOT NULL REFERENCES number_groups (id),
    stock_id       BLOB NOT NULL REFERENCES number_stock (id),
    -- Where its calls will go. No key: an order that is over outlives its trunk.
    trunk_id       BLOB NOT NULL,
    e164           TEXT NOT NULL,
    status         TEXT NOT NULL,
    -- What was charged, in nanos of the house currency.
    setup          INTEGER NOT NULL,
    monthly        INTEGER NOT NULL,
    intake_id      BLOB,
    failure_reason TEXT,
    -- The request it came from: which endpoint, the caller's key, and what it was sent with.
    asked_by       TEXT NOT NULL,
    request_key    BLOB,
    request_digest BLOB NOT NULL,
    -- When the carrier is asked next; absent unless it is being provisioned.
    try_at         INTEGER,
    tries          INTEGER NOT NULL,
    provisioning_at INTEGER,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    UNIQUE (account_id, asked_by, request_key)
) STRICT;
CREATE TABLE number_order_steps (
    order_id BLOB NOT NULL REFERENCES number_orders (id),
    step     INTEGER NOT NULL,
    status   TEXT NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (order_id, step)
) STRICT;
CREATE TABLE numbers (
    id              BLOB PRIMARY KEY NOT NULL,
    account_id      BLOB NOT NULL REFERENCES accounts (id),
    order_id        BLOB NOT NULL REFERENCES number_orders (id),
    stock_id        BLOB NOT NULL REFERENCES number_stock (id),
    -- No key: a number that was released outlives its trunk.
    trunk_id        BLOB NOT NULL,
    e164            TEXT NOT NULL,
    country         TEXT NOT NULL,
    kind            TEXT NOT NULL,
    capabilities    TEXT NOT NULL,
    regulatory      TEXT NOT NULL,
    -- In nanos of the house currency.
    monthly         INTEGER NOT NULL,
    -- Months are counted from here.
    since           INTEGER NOT NULL,
    -- How many of them are paid for, and when that ends.
    months_paid     INTEGER NOT NULL,
    next_renewal_at INTEGER NOT NULL,
    -- When the renewal is tried next, and how often it has failed in a row.
    try_at          INTEGER NOT NULL,
    failures        INTEGER NOT NULL,
    -- The month whose renewal was said to be in danger.
    warned_of       INTEGER NOT NULL,
    released_at     INTEGER,
    release_reason  TEXT,
    UNIQUE (order_id)
) STRICT;
CREATE TABLE trunk_load (
    trunk_id  BLOB PRIMARY KEY NOT NULL,
    live      INTEGER NOT NULL CONSTRAINT trunk_load_is_a_number CHECK (live >= 0),
    second    INTEGER NOT NULL,
    in_second INTEGER NOT NULL
) STRICT;
CREATE TABLE zone_load (
    account_id  BLOB NOT NULL REFERENCES accounts (id),
    zone        TEXT NOT NULL,
    live        INTEGER NOT NULL CONSTRAINT zone_load_is_a_number CHECK (live >= 0),
    -- Hours and days since 1970.
    hour        INTEGER NOT NULL,
    hour_peak   INTEGER NOT NULL,
    -- How often it has changed in that hour: the first change writes down the hour before.
    changes     INTEGER NOT NULL,
    before_hour INTEGER NOT NULL,
    before_peak INTEGER NOT NULL,
    day         INTEGER NOT NULL,
    day_peak    INTEGER NOT NULL,
    PRIMARY KEY (account_id, zone)
) STRICT;
CREATE TABLE zone_hours (
    account_id BLOB NOT NULL REFERENCES accounts (id),
    zone       TEXT NOT NULL,
    hour       INTEGER NOT NULL,
    peak       INTEGER NOT NULL,
    PRIMARY KEY (account_id, hour, zone)
) STRICT;
CREATE TABLE zone_quotas (
    account_id BLOB NOT NULL REFERENCES accounts (id),
    zone       TEXT NOT NULL,
    channels   INTEGER NOT NULL CONSTRAINT zone_quota_is_a_number CHECK (channels >= 0),
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (account_id, zone)
) STRICT;
CREATE TABLE daily_spend (
    account_id BLOB NOT NULL REFERENCES accounts (id),
    day        INTEGER NOT NULL,
    charged    INTEGER NOT NULL
        CONSTRAINT daily_charged_in_range CHECK (charged BETWEEN 0 AND 4000000000000000000),
    reserved   INTEGER NOT NULL
        CONSTRAINT daily_reserved_in_range CHECK (reserved BETWEEN 0 AND 4000000000000000000),
    -- Whether the account heard that its cap is reached.
    told       INTEGER NOT NULL,
    PRIMARY KEY (account_id, day)
) STRICT;
CREATE TABLE cdrs (
    id                BLOB NOT NULL,
    account_id        BLOB NOT NULL,
    trunk_id          BLOB NOT NULL,
    call_id           TEXT NOT NULL,
    leg               TEXT NOT NULL,
    zone              TEXT NOT NULL,
    calling           TEXT NOT NULL,
    called            TEXT NOT NULL,
    country           TEXT,
    destination_name  TEXT,
    prefix            TEXT,
    started_at        INTEGER NOT NULL,
    answered_at       INTEGER,
    ended_at          INTEGER,
    -- From answer to end, and what of it was paid for.
    duration_seconds  INTEGER NOT NULL,
    billed_seconds    INTEGER NOT NULL,
    status            TEXT NOT NULL,
    currency          TEXT NOT NULL,
    rate_per_minute   INTEGER NOT NULL,
    connect_fee       INTEGER NOT NULL,
    increment_seconds INTEGER NOT NULL,
    minimum_seconds   INTEGER NOT NULL,
    -- Whose price it is, and who carried it.
    rate_upstream_id  BLOB,
    upstream_id       BLOB,
    -- What the customer paid and what it cost us, in nanos.
    charge            INTEGER NOT NULL CONSTRAINT cdr_charge_is_no_gift CHECK (charge >= 0),
    cost              INTEGER NOT NULL CONSTRAINT cdr_cost_is_no_gift CHECK (cost >= 0),
    -- The ledger's transaction that charged for it, with others; absent when nothing was charged.
    ledger_id         BLOB,
    -- Whether it came as a line of another switch, which nobody had asked us about.
    imported          INTEGER NOT NULL,
    -- Whether a person should look at it: it was cut off from us, or went on for longer than was paid for.
    review            INTEGER NOT NULL,
    recorded_at       INTEGER NOT NULL, hung_up_by TEXT, rate_plan_version_id BLOB,
    PRIMARY KEY (id, started_at)
) /*pg PARTITION BY RANGE (started_at) */ STRICT;
CREATE TABLE cdr_arrivals (
    batch             BLOB NOT NULL,
    id                BLOB NOT NULL,
    account_id        BLOB NOT NULL,
    trunk_id          BLOB NOT NULL,
    call_id           TEXT NOT NULL,
    leg               TEXT NOT NULL,
    zone              TEXT NOT NULL,
    calling           TEXT NOT NULL,
    called            TEXT NOT NULL,
    country           TEXT,
    destination_name  TEXT,
    prefix            TEXT,
    started_at        INTEGER NOT NULL,
    answered_at       INTEGER,
    ended_at          INTEGER,
    duration_seconds  INTEGER NOT NULL,
    billed_seconds    INTEGER NOT NULL,
    status            TEXT NOT NULL,
    currency          TEXT NOT NULL,
    rate_per_minute   INTEGER NOT NULL,
    connect_fee       INTEGER NOT NULL,
    increment_seconds INTEGER NOT NULL,
    minimum_seconds   INTEGER NOT NULL,
    rate_upstream_id  BLOB,
    upstream_id       BLOB,
    charge            INTEGER NOT NULL,
    cost              INTEGER NOT NULL,
    ledger_id         BLOB,
    imported          INTEGER NOT NULL,
    review            INTEGER NOT NULL,
    recorded_at       INTEGER NOT NULL, rate_plan_version_id BLOB,
    PRIMARY KEY (batch, id)
) STRICT;
CREATE TABLE cdr_days (
    account_id       BLOB NOT NULL,
    day              INTEGER NOT NULL,
    country          TEXT NOT NULL,
    destination_name TEXT NOT NULL,
    attempts         INTEGER NOT NULL,
    answered         INTEGER NOT NULL,
    seconds          INTEGER NOT NULL,
    charge           INTEGER NOT NULL,
    cost             INTEGER NOT NULL,
    PRIMARY KEY (account_id, day, country, destination_name)
) STRICT;
CREATE TABLE cdr_hours (
    account_id BLOB NOT NULL,
    hour       INTEGER NOT NULL,
    trunk_id   BLOB NOT NULL,
    attempts   INTEGER NOT NULL,
    answered   INTEGER NOT NULL,
    seconds    INTEGER NOT NULL, charge INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (account_id, hour, trunk_id)
) STRICT;
CREATE TABLE live_calls (
    -- The call's token, and the id that its record will have.
    token             BLOB PRIMARY KEY NOT NULL,
    edge_id           TEXT NOT NULL,
    call_id           TEXT NOT NULL,
    -- Empty when the switch sent none.
    from_tag          TEXT NOT NULL,
    account_id        BLOB NOT NULL REFERENCES accounts (id),
    trunk_id          BLOB NOT NULL,
    leg               TEXT NOT NULL,
    zone              TEXT NOT NULL,
    calling           TEXT NOT NULL,
    called            TEXT NOT NULL,
    country           TEXT,
    destination_name  TEXT,
    prefix            TEXT,
    currency          TEXT NOT NULL,
    -- What a minute and the connection are sold at, in nanos, and how the seconds are counted.
    rate_per_minute   INTEGER NOT NULL,
    connect_fee       INTEGER NOT NULL,
    increment_seconds INTEGER NOT NULL,
    minimum_seconds   INTEGER NOT NULL,
    -- Whose price it is.
    rate_upstream_id  BLOB,
    -- Who may carry it, the cheapest first, each with what it asks; as JSON.
    routes            TEXT NOT NULL,
    -- Where a call to a customer's number goes.
    target_uri        TEXT,
    -- Who does carry it, once that is known.
    upstream_id       BLOB,
    -- When it was allowed, by our clock.
    started_at        INTEGER NOT NULL,
    -- When it was answered, by the switch's.
    answered_at       INTEGER,
    -- The last that was heard of it, by the switch's clock.
    seen_at           INTEGER NOT NULL,
    -- The money that is set aside for it, in nanos, and for how many seconds from the answer that is enough.
    reserved          INTEGER NOT NULL,
    reserved_seconds  INTEGER NOT NULL,
    -- When its money is let go of if nobody speaks of it again.
    expires_at        INTEGER NOT NULL,
    -- Somebody of the team wants it to end.
    hang_up           INTEGER NOT NULL, sent_to TEXT, rate_plan_version_id BLOB, held INTEGER NOT NULL DEFAULT 0
    CONSTRAINT live_call_held_in_range CHECK (held BETWEEN 0 AND 2000000000000000000),
    UNIQUE (edge_id, call_id, from_tag, trunk_id, leg)
) STRICT;
CREATE TABLE call_alarms (
    day              INTEGER NOT NULL,
    account_id       BLOB NOT NULL REFERENCES accounts (id),
    alarm            TEXT NOT NULL,
    country          TEXT NOT NULL,
    destination_name TEXT NOT NULL,
    PRIMARY KEY (day, account_id, alarm, country, destination_name)
) STRICT;
CREATE TABLE cdr_retention (
    id         INTEGER PRIMARY KEY NOT NULL CONSTRAINT cdr_retention_is_one CHECK (id = 1),
    started_at INTEGER NOT NULL,
    cdr_id     BLOB NOT NULL
) STRICT;
CREATE TABLE cdr_exports (
    id           BLOB PRIMARY KEY NOT NULL,
    account_id   BLOB NOT NULL REFERENCES accounts (id),
    status       TEXT NOT NULL,
    format       TEXT NOT NULL,
    compression  TEXT NOT NULL,
    -- Calls that began from here on, and before there.
    range_from   INTEGER NOT NULL,
    range_to     INTEGER NOT NULL,
    -- How many are in the file, or were so far.
    rows_count   INTEGER NOT NULL,
    size_bytes   INTEGER,
    -- Absent before the file is there, and after it has expired.
    content_hash BLOB,
    -- Why there is none.
    reason       TEXT,
    requested_at INTEGER NOT NULL,
    completed_at INTEGER,
    expires_at   INTEGER
, is_team INTEGER NOT NULL DEFAULT FALSE, filters TEXT, time_zone TEXT) STRICT;
CREATE TABLE cdr_charges (
    account_id       BLOB NOT NULL,
    day              INTEGER NOT NULL,
    country          TEXT NOT NULL,
    destination_name TEXT NOT NULL,
    calls            INTEGER NOT NULL,
    billed_seconds   INTEGER NOT NULL,
    charge           INTEGER NOT NULL,
    PRIMARY KEY (account_id, day, country, destination_name)
) STRICT;
CREATE TABLE account_managers (
    id         BLOB PRIMARY KEY NOT NULL,
    name       TEXT NOT NULL,
    email      TEXT NOT NULL,
    is_active  INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (email)
) STRICT;
CREATE TABLE account_words (
    word       TEXT /*pg COLLATE "C" */ NOT NULL,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    PRIMARY KEY (word, account_id)
) STRICT;
CREATE TABLE admin_notes (
    id         BLOB PRIMARY KEY NOT NULL,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    author_id  BLOB NOT NULL REFERENCES users (id),
    body       TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE TABLE tickets (
    id         BLOB PRIMARY KEY NOT NULL,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    -- Who wrote it first, and hears of answers.
    author_id  BLOB NOT NULL REFERENCES users (id),
    subject    TEXT NOT NULL,
    status     TEXT NOT NULL,
    priority   TEXT NOT NULL,
    -- What it is about: a request of ours that failed, and calls.
    request_id TEXT,
    -- A list, as JSON.
    cdr_ids    TEXT NOT NULL,
    -- How many messages it has.
    messages   INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE TABLE ticket_messages (
    ticket_id   BLOB NOT NULL REFERENCES tickets (id),
    -- Its place in the ticket, from 1.
    number      INTEGER NOT NULL,
    id          BLOB NOT NULL,
    author_id   BLOB NOT NULL REFERENCES users (id),
    author_kind TEXT NOT NULL,
    body        TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (ticket_id, number)
) STRICT;
CREATE TABLE notices (
    id         BLOB PRIMARY KEY NOT NULL,
    severity   TEXT NOT NULL,
    title      TEXT NOT NULL,
    body       TEXT NOT NULL,
    starts_at  INTEGER NOT NULL,
    ends_at    INTEGER CONSTRAINT notice_ends_after_it_starts CHECK (ends_at > starts_at),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE TABLE traffic (
    span  TEXT NOT NULL,
    what  TEXT NOT NULL,
    -- When the span began.
    at    INTEGER NOT NULL,
    name  TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (span, what, at, name)
) STRICT;
CREATE TABLE audit_counted (
    id  INTEGER PRIMARY KEY NOT NULL CONSTRAINT audit_counted_is_one CHECK (id = 1),
    seq INTEGER NOT NULL
) STRICT;
CREATE TABLE open_ends (
    token            BLOB PRIMARY KEY NOT NULL,
    -- Whether the end was told, so that only an answer can still be.
    is_end_told      INTEGER NOT NULL,
    -- The answer and the end, or the last that was heard, by the switch's clock.
    answered_at      INTEGER,
    ended_at         INTEGER NOT NULL,
    -- Who might carry it, as JSON, and for how many seconds from the answer there was money.
    routes           TEXT NOT NULL,
    reserved_seconds INTEGER NOT NULL,
    closed_at        INTEGER NOT NULL
) STRICT;
CREATE TABLE cdr_amendments (
    id               BLOB PRIMARY KEY NOT NULL,
    cdr_id           BLOB NOT NULL,
    started_at       INTEGER NOT NULL,
    account_id       BLOB NOT NULL,
    country          TEXT NOT NULL,
    destination_name TEXT NOT NULL,
    billed_seconds   INTEGER NOT NULL,
    charge           INTEGER NOT NULL CONSTRAINT cdr_amendment_is_no_gift CHECK (charge >= 0),
    -- Absent when nothing more was charged.
    ledger_id        BLOB,
    recorded_at      INTEGER NOT NULL
) STRICT;
CREATE TABLE peaks_due (
    account_id BLOB NOT NULL,
    hour       INTEGER NOT NULL,
    arrivals   INTEGER NOT NULL,
    PRIMARY KEY (hour, account_id)
) STRICT;
CREATE TABLE deleted_trunks (
    id         BLOB PRIMARY KEY NOT NULL,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    zone       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    deleted_at INTEGER NOT NULL
) STRICT;
CREATE TABLE deleted_allow_entries (
    id            BLOB PRIMARY KEY NOT NULL,
    trunk_id      BLOB NOT NULL,
    account_id    BLOB NOT NULL REFERENCES accounts (id),
    first_address BLOB NOT NULL,
    last_address  BLOB NOT NULL,
    created_at    INTEGER NOT NULL,
    deleted_at    INTEGER NOT NULL
) STRICT;
CREATE TABLE suspended_cdrs (
    id           BLOB PRIMARY KEY NOT NULL,
    reason       TEXT NOT NULL,
    call_id      TEXT NOT NULL,
    leg          TEXT NOT NULL,
    trunk_id     BLOB,
    source_ip    TEXT,
    upstream_id  BLOB,
    calling      TEXT,
    called       TEXT NOT NULL,
    started_at   INTEGER NOT NULL,
    answered_at  INTEGER,
    ended_at     INTEGER NOT NULL,
    status       TEXT NOT NULL,
    -- The trunk, or else the address, that the line names.
    origin       TEXT NOT NULL,
    suspended_at INTEGER NOT NULL,
    UNIQUE (call_id, leg, started_at, origin)
) STRICT;
CREATE TABLE suspense_counts (
    reason TEXT PRIMARY KEY NOT NULL,
    lines  INTEGER NOT NULL CONSTRAINT suspense_count_is_a_number CHECK (lines >= 0)
) STRICT;
CREATE TABLE foreign_load (
    trunk_id  BLOB PRIMARY KEY NOT NULL,
    second    INTEGER NOT NULL,
    in_second INTEGER NOT NULL
) STRICT;
CREATE TABLE "ip_allow_entries" (
    id            BLOB PRIMARY KEY NOT NULL,
    trunk_id      BLOB NOT NULL REFERENCES trunks (id),
    account_id    BLOB NOT NULL REFERENCES accounts (id),
    cidr          TEXT NOT NULL,
    note          TEXT,
    -- Sixteen bytes each, IPv4 as ::ffff:a.b.c.d, so that all networks stand in one order.
    first_address BLOB NOT NULL,
    last_address  BLOB NOT NULL,
    -- The password that a SIP request from the network proves it with.
    code          TEXT NOT NULL,
    -- When it was proved, or the team vouched for it.
    verified_at   INTEGER,
    created_at    INTEGER NOT NULL,
    CONSTRAINT listed_network_is_one CHECK (first_address <= last_address)
) STRICT;
CREATE TABLE second_factor_guesses (
    user_id    BLOB PRIMARY KEY NOT NULL REFERENCES users (id),
    guesses    INTEGER NOT NULL,
    -- No guess is accepted before.
    wait_until INTEGER NOT NULL,
    guessed_at INTEGER NOT NULL
) STRICT;
CREATE TABLE passkeys (
    id            BLOB PRIMARY KEY NOT NULL,
    user_id       BLOB NOT NULL REFERENCES users (id),
    credential_id BLOB NOT NULL,
    -- COSE.
    public_key    BLOB NOT NULL,
    -- Rises with every use, unless the authenticator has no counter.
    sign_count    INTEGER NOT NULL,
    name          TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    last_used_at  INTEGER
) STRICT;
CREATE TABLE passkey_challenges (
    challenge_hash BLOB PRIMARY KEY NOT NULL,
    expires_at     INTEGER NOT NULL
) STRICT;
CREATE TABLE audit_checkpoints (
    last_seq      INTEGER PRIMARY KEY NOT NULL,
    first_seq     INTEGER NOT NULL CONSTRAINT audit_checkpoints_first_seq_key UNIQUE,
    row_count     INTEGER NOT NULL,
    -- The hashes of the row before the first one and of the last one.
    previous_hash BLOB NOT NULL,
    last_hash     BLOB NOT NULL,
    content_hash  BLOB NOT NULL,
    created_at    INTEGER NOT NULL,
    -- HMAC over all of the above.
    mac           BLOB NOT NULL,
    CONSTRAINT audit_checkpoints_count CHECK (row_count = last_seq - first_seq + 1 AND first_seq > 0)
) STRICT;
CREATE TABLE retired_master_secrets (
    mark             BLOB PRIMARY KEY NOT NULL,
    sealed_audit_key BLOB NOT NULL,
    until_seq        INTEGER NOT NULL,
    retired_at       INTEGER NOT NULL
) STRICT;
CREATE TABLE credits (
    id           BLOB PRIMARY KEY NOT NULL,
    account_id   BLOB NOT NULL REFERENCES accounts (id),
    amount       INTEGER NOT NULL CONSTRAINT credits_are_positive CHECK (amount > 0),
    reason       TEXT NOT NULL,
    status       TEXT NOT NULL,
    requested_by BLOB NOT NULL REFERENCES users (id),
    created_at   INTEGER NOT NULL,
    decided_by   BLOB REFERENCES users (id),
    decided_at   INTEGER, kind TEXT NOT NULL DEFAULT 'credit',
    CONSTRAINT credits_are_approved_by_another CHECK (status <> 'approved' OR decided_by <> requested_by)
) STRICT;
CREATE TABLE chargebacks (
    id                  BLOB PRIMARY KEY NOT NULL,
    account_id          BLOB NOT NULL REFERENCES accounts (id),
    payment_id          BLOB NOT NULL REFERENCES payments (id),
    provider            TEXT NOT NULL,
    provider_dispute_id TEXT NOT NULL,
    status              TEXT NOT NULL,
    amount              INTEGER NOT NULL CONSTRAINT chargebacks_are_positive CHECK (amount > 0),
    currency            TEXT NOT NULL,
    created_at          INTEGER NOT NULL,
    decided_at          INTEGER,
    UNIQUE (provider, provider_dispute_id),
    CONSTRAINT chargebacks_decided_or_open CHECK ((status = 'open') = (decided_at IS NULL))
) STRICT;
CREATE TABLE sandbox_disputes (
    id         TEXT PRIMARY KEY NOT NULL,
    order_id   TEXT NOT NULL REFERENCES sandbox_orders (id),
    amount     INTEGER NOT NULL,
    currency   TEXT NOT NULL,
    state      TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (order_id)
) STRICT;
CREATE TABLE payment_cards (
    card         TEXT PRIMARY KEY NOT NULL,
    last_used_at INTEGER NOT NULL
) STRICT;
CREATE TABLE api_keys (
    id            BLOB PRIMARY KEY NOT NULL,
    account_id    BLOB NOT NULL REFERENCES accounts (id),
    -- A key of the operator's team, not of the account's customer.
    is_team       INTEGER NOT NULL,
    created_by    BLOB NOT NULL REFERENCES users (id),
    name          TEXT NOT NULL,
    -- Its first characters, by which people tell keys apart.
    prefix        TEXT NOT NULL,
    secret_hash   BLOB NOT NULL,
    scopes        TEXT NOT NULL,
    -- The networks it may be used from, as a JSON array; all if empty.
    allowed_cidrs TEXT NOT NULL,
    expires_at    INTEGER,
    created_at    INTEGER NOT NULL,
    -- At most a minute old while the key is in use.
    last_used_at  INTEGER,
    last_used_ip  TEXT,
    revoked_at    INTEGER,
    UNIQUE (secret_hash)
) STRICT;
CREATE TABLE events (
    id         BLOB PRIMARY KEY NOT NULL,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    kind       TEXT NOT NULL,
    -- JSON; its fields depend on the kind.
    data       TEXT NOT NULL,
    -- Whether lists and streams show it.
    is_listed  INTEGER NOT NULL,
    -- The order in which they were written.
    ordinal    INTEGER NOT NULL,
    position   INTEGER,
    created_at INTEGER NOT NULL
) STRICT;
CREATE TABLE event_head (
    id            INTEGER PRIMARY KEY NOT NULL CONSTRAINT event_head_is_one CHECK (id = 1),
    position      INTEGER NOT NULL,
    -- When the last sweep over the accounts with ended calls began, and the last account that it is done with; NULL
    -- when it has ended.
    batched_at    INTEGER NOT NULL,
    swept_through BLOB
) STRICT;
CREATE TABLE ended_calls (
    cdr_id     BLOB PRIMARY KEY NOT NULL,
    account_id BLOB NOT NULL,
    started_at INTEGER NOT NULL,
    event_id   BLOB,
    created_at INTEGER NOT NULL
) STRICT;
CREATE TABLE webhook_endpoints (
    id              BLOB PRIMARY KEY NOT NULL,
    account_id      BLOB NOT NULL REFERENCES accounts (id),
    is_team         INTEGER NOT NULL,
    url             TEXT NOT NULL,
    description     TEXT,
    -- Words; * stands for all listed kinds.
    event_types     TEXT NOT NULL,
    wants_calls     INTEGER NOT NULL,
    is_enabled      INTEGER NOT NULL,
    disabled_reason TEXT,
    -- Sealed with the key for webhook secrets.
    secret          BLOB NOT NULL,
    previous_secret BLOB,
    previous_until  INTEGER,
    -- When the first delivery since the last success failed.
    failing_since   INTEGER,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    deleted_at      INTEGER
) STRICT;
CREATE TABLE webhook_deliveries (
    id              BLOB PRIMARY KEY NOT NULL,
    endpoint_id     BLOB NOT NULL REFERENCES webhook_endpoints (id),
    event_id        BLOB NOT NULL,
    event_type      TEXT NOT NULL,
    status          TEXT NOT NULL,
    -- Attempts since it was created, retried or replayed.
    tries           INTEGER NOT NULL,
    -- JSON; the latest attempts.
    attempts        TEXT NOT NULL,
    next_attempt_at INTEGER,
    created_at      INTEGER NOT NULL
) STRICT;
CREATE TABLE notification_preferences (
    user_id    BLOB NOT NULL REFERENCES users (id),
    code       TEXT NOT NULL,
    is_mailed  INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, code)
) STRICT;
CREATE TABLE usage_trunks (
    account_id BLOB NOT NULL,
    span       INTEGER NOT NULL,
    slot       INTEGER NOT NULL,
    trunk_id   BLOB NOT NULL,
    attempts   INTEGER NOT NULL,
    answered   INTEGER NOT NULL,
    seconds    INTEGER NOT NULL,
    charge     INTEGER NOT NULL,
    cost       INTEGER NOT NULL,
    PRIMARY KEY (account_id, span, slot, trunk_id)
) STRICT;
CREATE TABLE usage_destinations (
    account_id       BLOB NOT NULL,
    span             INTEGER NOT NULL,
    slot             INTEGER NOT NULL,
    country          TEXT NOT NULL,
    destination_name TEXT NOT NULL,
    attempts         INTEGER NOT NULL,
    answered         INTEGER NOT NULL,
    seconds          INTEGER NOT NULL,
    charge           INTEGER NOT NULL,
    cost             INTEGER NOT NULL,
    PRIMARY KEY (account_id, span, slot, country, destination_name)
) STRICT;
CREATE TABLE usage_routes (
    span             INTEGER NOT NULL,
    slot             INTEGER NOT NULL,
    country          TEXT NOT NULL,
    destination_name TEXT NOT NULL,
    upstream_id      BLOB NOT NULL,
    attempts         INTEGER NOT NULL,
    answered         INTEGER NOT NULL,
    seconds          INTEGER NOT NULL,
    charge           INTEGER NOT NULL,
    cost             INTEGER NOT NULL,
    PRIMARY KEY (span, slot, country, destination_name, upstream_id)
) STRICT;
CREATE TABLE demo_users (
    user_id BLOB PRIMARY KEY NOT NULL REFERENCES users (id)
) STRICT;
CREATE TABLE demo_data (
    id         INTEGER PRIMARY KEY NOT NULL CONSTRAINT demo_data_is_one CHECK (id = 1),
    status     TEXT NOT NULL,
    -- In thousandths.
    progress   INTEGER NOT NULL,
    message    TEXT,
    started_at INTEGER NOT NULL,
    ended_at   INTEGER
) STRICT;
CREATE TABLE nodes (
    id         BLOB PRIMARY KEY NOT NULL,
    version    TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL
) STRICT;
CREATE TABLE edges (
    edge_id TEXT PRIMARY KEY NOT NULL,
    seen_at INTEGER NOT NULL
) STRICT;
CREATE TABLE rate_plans (
    id          BLOB PRIMARY KEY NOT NULL,
    name        TEXT NOT NULL,
    -- How long before an increase customers hear of it.
    notice_days INTEGER NOT NULL CONSTRAINT rate_plan_notice_is_within CHECK (notice_days BETWEEN 0 AND 365),
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL
) STRICT;
CREATE TABLE rate_plan_versions (
    id               BLOB PRIMARY KEY NOT NULL,
    rate_plan_id     BLOB NOT NULL REFERENCES rate_plans (id),
    number           INTEGER NOT NULL,
    base             TEXT NOT NULL,
    -- In parts per million; less than zero is a discount.
    markup           INTEGER NOT NULL CONSTRAINT rate_plan_markup_is_within CHECK (markup BETWEEN -1000000 AND 10000000),
    allow_below_cost INTEGER NOT NULL,
    -- A list, as JSON.
    rules            TEXT NOT NULL,
    rule_count       INTEGER NOT NULL,
    effective_at     INTEGER NOT NULL,
    recorded_at      INTEGER NOT NULL,
    UNIQUE (rate_plan_id, number)
) STRICT;
CREATE TABLE rate_plan_assignments (
    account_id    BLOB NOT NULL REFERENCES accounts (id),
    number        INTEGER NOT NULL,
    rate_plan_id  BLOB REFERENCES rate_plans (id),
    effective_at  INTEGER NOT NULL,
    recorded_at   INTEGER NOT NULL,
    -- The notice that the customer was promised; that of the plan counts if it is longer.
    notice_days   INTEGER CONSTRAINT assignment_notice_is_within CHECK (notice_days BETWEEN 0 AND 365),
    -- Why an increase came without notice.
    waive_reason  TEXT,
    PRIMARY KEY (account_id, number)
) STRICT;
CREATE TABLE sheet_mappings (
    upstream_id BLOB PRIMARY KEY NOT NULL REFERENCES upstreams (id),
    mapping     TEXT NOT NULL,
    updated_at  INTEGER NOT NULL
) STRICT;
CREATE TABLE hold_policies (
    upstream_id      BLOB PRIMARY KEY NOT NULL REFERENCES upstreams (id),
    changed_percent  INTEGER,
    increase_percent INTEGER,
    below_cost       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL
) STRICT;
CREATE TABLE call_disputes (
    id          BLOB PRIMARY KEY NOT NULL,
    account_id  BLOB NOT NULL REFERENCES accounts (id),
    cdr_id      BLOB NOT NULL CONSTRAINT call_disputes_cdr UNIQUE,
    ticket_id   BLOB NOT NULL REFERENCES tickets (id),
    opened_by   BLOB NOT NULL REFERENCES users (id),
    reason      TEXT NOT NULL,
    called      TEXT NOT NULL,
    started_at  INTEGER NOT NULL,
    -- What the call was charged, and when: the month of its invoice.
    charge      INTEGER NOT NULL,
    charged_at  INTEGER NOT NULL,
    status      TEXT NOT NULL,
    -- What was credited.
    amount      INTEGER,
    note        TEXT,
    resolved_by BLOB REFERENCES users (id),
    resolved_at INTEGER,
    created_at  INTEGER NOT NULL
) STRICT;
CREATE TABLE statement_mappings (
    upstream_id BLOB PRIMARY KEY NOT NULL REFERENCES upstreams (id),
    mapping     TEXT NOT NULL,
    updated_at  INTEGER NOT NULL
) STRICT;
CREATE TABLE upstream_statements (
    id                         BLOB PRIMARY KEY NOT NULL,
    upstream_id                BLOB NOT NULL REFERENCES upstreams (id),
    status                     TEXT NOT NULL,
    currency                   TEXT NOT NULL,
    content_hash               BLOB NOT NULL,
    -- The mapping that was given or saved, as JSON, and the one by which the file was read.
    mapping                    TEXT,
    used_mapping               TEXT,
    -- Absent until the file was read, unless they were given.
    period_from                INTEGER,
    period_to                  INTEGER,
    start_tolerance_seconds    INTEGER NOT NULL,
    duration_tolerance_seconds INTEGER NOT NULL,
    -- Counts the times that it was begun: what an earlier run still writes is refused.
    run                        INTEGER NOT NULL,
    rows_done                  INTEGER NOT NULL,
    rows_total                 INTEGER,
    lines_done                 INTEGER NOT NULL,
    unanswered_rows            INTEGER NOT NULL,
    outside_rows               INTEGER NOT NULL,
    -- Counts and sums of each kind of line, as JSON.
    totals                     TEXT,
    error_count                INTEGER NOT NULL,
    -- The first of them, as JSON.
    errors                     TEXT NOT NULL,
    -- Why it failed, if not for what the file says.
    reason                     TEXT,
    created_at                 INTEGER NOT NULL,
    started_at                 INTEGER,
    completed_at               INTEGER,
    lines_purged_at            INTEGER
) STRICT;
CREATE TABLE statement_lines (
    statement_id     BLOB NOT NULL,
    -- 1 only ours, 2 only theirs, 3 the duration differs, 4 the rate differs, 5 matched.
    kind             INTEGER NOT NULL,
    -- Their start, or ours if they do not have the call.
    started_at       INTEGER NOT NULL,
    number           INTEGER NOT NULL,
    called           TEXT NOT NULL,
    -- Theirs.
    line             INTEGER,
    their_seconds    INTEGER,
    their_cost       INTEGER,
    their_rate       INTEGER,
    their_call_id    TEXT,
    -- Ours.
    cdr_id           BLOB,
    our_started_at   INTEGER,
    our_seconds      INTEGER,
    our_cost         INTEGER,
    our_rate         INTEGER,
    PRIMARY KEY (statement_id, kind, started_at, number)
) STRICT;
CREATE TABLE routing_policies (
    id         INTEGER PRIMARY KEY NOT NULL CONSTRAINT routing_policies_are_one CHECK (id = 1),
    policies   TEXT NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE TABLE route_stats (
    minute           INTEGER NOT NULL,
    destination_name TEXT NOT NULL,
    upstream_id      BLOB NOT NULL,
    attempts         INTEGER NOT NULL,
    answered         INTEGER NOT NULL,
    ended            INTEGER NOT NULL,
    seconds          INTEGER NOT NULL,
    delays           INTEGER NOT NULL,
    delay_millis     INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    PRIMARY KEY (minute, destination_name, upstream_id)
) STRICT;
CREATE TABLE route_breakers (
    destination_name TEXT NOT NULL,
    upstream_id      BLOB NOT NULL,
    is_open          INTEGER NOT NULL,
    -- The SIP response of the last failure; none for a timeout.
    sip_code         INTEGER,
    opened_at        INTEGER NOT NULL,
    -- When it last opened, failed again or closed.
    changed_at       INTEGER NOT NULL,
    -- When the team was last told that it opened, and whether it has to be told that it closed.
    announced_at     INTEGER,
    is_announced     INTEGER NOT NULL,
    PRIMARY KEY (destination_name, upstream_id)
) STRICT;
CREATE TABLE price_comparisons (
    id           BLOB PRIMARY KEY NOT NULL,
    change_id    BLOB NOT NULL,
    -- The version of the plan before and after; the UUID of zeros is the list price.
    from_version BLOB NOT NULL,
    to_version   BLOB NOT NULL,
    -- No new price counts earlier for these customers.
    since        INTEGER NOT NULL,
    -- Prefixes whose price changes.
    added        INTEGER NOT NULL,
    removed      INTEGER NOT NULL,
    increased    INTEGER NOT NULL,
    decreased    INTEGER NOT NULL,
    -- The changes as files; absent if there are none or too many.
    csv_hash     BLOB,
    csv_bytes    INTEGER,
    xlsx_hash    BLOB,
    xlsx_bytes   INTEGER,
    -- The rates of destinations at both times, as JSON.
    destinations TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    CONSTRAINT price_comparisons_key UNIQUE (change_id, from_version, to_version, since)
) STRICT;
CREATE TABLE price_notices (
    id            BLOB PRIMARY KEY NOT NULL,
    account_id    BLOB NOT NULL REFERENCES accounts (id),
    change_id     BLOB NOT NULL,
    comparison_id BLOB NOT NULL REFERENCES price_comparisons (id),
    cause         TEXT NOT NULL,
    -- The last moment of the old prices, and when all new ones are in force.
    from_at       INTEGER NOT NULL,
    to_at         INTEGER NOT NULL,
    -- From the comparison.
    added         INTEGER NOT NULL,
    removed       INTEGER NOT NULL,
    increased     INTEGER NOT NULL,
    decreased     INTEGER NOT NULL,
    csv_hash      BLOB,
    xlsx_hash     BLOB,
    -- What it means for the customer's calls of 30 days, as JSON.
    impact        TEXT NOT NULL,
    -- The addresses that it was mailed to, as a JSON list.
    mailed_to     TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    CONSTRAINT price_notices_once UNIQUE (account_id, change_id)
) STRICT;
CREATE TABLE deck_mail_policies (
    upstream_id        BLOB PRIMARY KEY NOT NULL REFERENCES upstreams (id),
    -- Addresses, and formats of files, as JSON lists.
    senders            TEXT NOT NULL,
    file_types         TEXT NOT NULL,
    subject_contains   TEXT,
    file_name_contains TEXT,
    mode               TEXT NOT NULL,
    trust_senders      INTEGER NOT NULL,
    updated_at         INTEGER NOT NULL
) STRICT;
CREATE TABLE deck_mails (
    id              BLOB PRIMARY KEY NOT NULL,
    -- SHA-256 of sender and Message-ID, or of the whole message.
    message_key     BLOB NOT NULL,
    message_id      TEXT,
    sender          TEXT,
    subject         TEXT NOT NULL,
    size_bytes      INTEGER NOT NULL,
    upstream_id     BLOB REFERENCES upstreams (id),
    outcome         TEXT NOT NULL,
    reason          TEXT,
    sender_verified INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    CONSTRAINT deck_mails_once UNIQUE (message_key)
) STRICT;
CREATE TABLE deck_mail_files (
    message_key  BLOB NOT NULL,
    content_hash BLOB NOT NULL,
    deck_mail_id BLOB NOT NULL REFERENCES deck_mails (id),
    import_id    BLOB NOT NULL,
    file_name    TEXT NOT NULL,
    size_bytes   INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (message_key, content_hash)
) STRICT;
CREATE TABLE deck_mailbox (
    id           INTEGER PRIMARY KEY NOT NULL,
    polled_at    INTEGER NOT NULL,
    failed_since INTEGER,
    failure      TEXT
) STRICT;
CREATE TABLE replaced_leaves (
    deck_id      BLOB NOT NULL REFERENCES decks (id),
    -- As a number that sorts as the digits do.
    first_prefix INTEGER NOT NULL,
    body         BLOB NOT NULL,
    PRIMARY KEY (deck_id, first_prefix)
) STRICT;
CREATE TABLE rate_plan_notices (
    rate_plan_id BLOB NOT NULL REFERENCES rate_plans (id),
    recorded_at  INTEGER NOT NULL,
    notice_days  INTEGER NOT NULL,
    PRIMARY KEY (rate_plan_id, recorded_at)
) STRICT;
CREATE TABLE cdr_archive_files (
    -- Days since 1970.
    day          INTEGER NOT NULL,
    part         INTEGER NOT NULL,
    content_hash BLOB NOT NULL,
    size_bytes   INTEGER NOT NULL,
    calls        INTEGER NOT NULL,
    seconds      INTEGER NOT NULL,
    charge       INTEGER NOT NULL,
    cost         INTEGER NOT NULL,
    -- Whether a number in it is not anonymised yet.
    has_numbers  INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    -- When the file was read back and compared with the rollups; until then the database has its CDRs.
    verified_at  INTEGER,
    PRIMARY KEY (day, part)
) STRICT;
CREATE TABLE cdr_archive (
    id         INTEGER PRIMARY KEY NOT NULL,
    hot_from   INTEGER NOT NULL,
    dropped_to INTEGER NOT NULL
) STRICT;
CREATE TABLE "ledger_transactions" (
    id            BLOB NOT NULL CONSTRAINT ledger_transaction_key PRIMARY KEY,
    account_id    BLOB NOT NULL,
    currency      TEXT NOT NULL,
    -- Its place in the customer's book: 1, 2, 3 … in the order of the commits. The lock on the balance row keeps it
    -- unique.
    number        INTEGER NOT NULL,
    kind          TEXT NOT NULL,
    -- What happened outside the ledger, once.
    reference     TEXT NOT NULL,
    -- The customer's posting; negative for a charge.
    amount        INTEGER NOT NULL CONSTRAINT ledger_amount_in_range
        CHECK (amount <> 0 AND amount BETWEEN -2000000000000000000 AND 2000000000000000000),
    book          TEXT NOT NULL,
    balance_after INTEGER NOT NULL,
    note          TEXT,
    actor_id      BLOB,
    created_at    INTEGER NOT NULL,
    CONSTRAINT ledger_posted_once UNIQUE (kind, reference)
) STRICT;
CREATE TABLE ledger_splits (
    transaction_id BLOB NOT NULL REFERENCES "ledger_transactions" (id),
    book           TEXT NOT NULL,
    amount         INTEGER NOT NULL CONSTRAINT ledger_split_in_range
        CHECK (amount <> 0 AND amount BETWEEN -2000000000000000000 AND 2000000000000000000),
    PRIMARY KEY (transaction_id, book)
) STRICT;
CREATE INDEX jobs_dead ON jobs (dead_at, id) WHERE dead_at IS NOT NULL;
CREATE INDEX users_account ON users (account_id, id);
CREATE INDEX sessions_user ON sessions (user_id, created_at, id);
CREATE INDEX sessions_expiry ON sessions (expires_at);
CREATE INDEX refresh_tokens_session ON refresh_tokens (session_id);
CREATE INDEX refresh_tokens_parent ON refresh_tokens (parent);
CREATE INDEX access_tokens_user ON access_tokens (user_id);
CREATE INDEX access_tokens_session ON access_tokens (session_id);
CREATE INDEX access_tokens_expiry ON access_tokens (expires_at);
CREATE INDEX link_tokens_user ON link_tokens (user_id, purpose);
CREATE INDEX link_tokens_expiry ON link_tokens (expires_at);
CREATE INDEX sign_in_failures_age ON sign_in_failures (failed_at);
CREATE INDEX recovery_codes_user ON recovery_codes (user_id);
CREATE INDEX two_factor_challenges_user ON two_factor_challenges (user_id);
CREATE INDEX two_factor_challenges_expiry ON two_factor_challenges (expires_at);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);
CREATE INDEX rate_windows_age ON rate_windows (started_at);
CREATE INDEX onboardings_in_order ON onboardings (created_at, account_id) WHERE NOT is_carrier;
CREATE INDEX onboardings_by_status ON onboardings (beta_status, created_at, account_id) WHERE NOT is_carrier;
CREATE UNIQUE INDEX intakes_current_kyb ON intakes (account_id) WHERE purpose = 'kyb' AND status <> 'rejected';
CREATE INDEX intakes_of_account ON intakes (account_id, created_at, id);
CREATE INDEX intakes_in_order ON intakes (created_at, id);
CREATE INDEX intakes_by_status ON intakes (status, created_at, id);
CREATE INDEX intakes_kyb_in_order ON intakes (created_at, id) WHERE purpose = 'kyb';
CREATE INDEX intakes_kyb_by_status ON intakes (status, created_at, id) WHERE purpose = 'kyb';
CREATE INDEX intake_documents_intake ON intake_documents (intake_id, uploaded_at, id);
CREATE INDEX intake_documents_content ON intake_documents (content_hash);
CREATE UNIQUE INDEX card_verifications_order_key ON card_verifications (provider, provider_order_id);
CREATE UNIQUE INDEX card_verifications_request_key ON card_verifications (account_id, request_key);
CREATE INDEX card_verifications_account ON card_verifications (account_id, created_at, id);
CREATE INDEX card_verifications_open ON card_verifications (poll_at, id) WHERE poll_at IS NOT NULL;
CREATE INDEX payment_callbacks_received ON payment_callbacks (received_at);
CREATE INDEX ledger_days_book ON "ledger_book_days" (book, currency, day);
CREATE INDEX ledger_holds_open ON ledger_holds (account_id, currency, expires_at) WHERE state = 'open';
CREATE INDEX ledger_holds_due ON ledger_holds (expires_at) WHERE state = 'open';
CREATE INDEX ledger_holds_ended ON ledger_holds (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX onboardings_approved ON onboardings (beta_approved_at) WHERE beta_approved_at IS NOT NULL;
CREATE INDEX onboardings_declined ON onboardings (beta_declined_at) WHERE beta_declined_at IS NOT NULL;
CREATE INDEX notifications_account ON notifications (account_id, created_at, id);
CREATE INDEX notifications_unread ON notifications (account_id, created_at, id) WHERE read_at IS NULL;
CREATE INDEX notifications_age ON notifications (created_at);
CREATE INDEX balance_watches_low ON balance_watches (account_id) WHERE low_at IS NOT NULL;
CREATE UNIQUE INDEX recharge_attempts_open_key ON recharge_attempts (account_id) WHERE status = 'open';
CREATE INDEX recharge_attempts_account ON recharge_attempts (account_id, started_at);
CREATE INDEX vat_profiles_due ON vat_profiles (next_check_at) WHERE next_check_at IS NOT NULL;
CREATE INDEX vat_checks_of_account ON vat_checks (account_id, checked_at);
CREATE INDEX vat_proofs_of_account ON vat_proofs (account_id, uploaded_at, id);
CREATE INDEX vat_proofs_content ON vat_proofs (content_hash);
CREATE INDEX invoices_of_account ON invoices (account_id, created_at, id);
CREATE INDEX invoices_in_order ON invoices (created_at, id);
CREATE INDEX invoices_by_status ON invoices (status, created_at, id);
CREATE INDEX invoices_open ON invoices (id) WHERE status = 'issued';
CREATE INDEX invoices_content ON invoices (content_hash) WHERE content_hash IS NOT NULL;
CREATE INDEX credit_notes_content ON credit_notes (content_hash) WHERE content_hash IS NOT NULL;
CREATE UNIQUE INDEX payment_methods_token_key ON payment_methods (account_id, provider, token);
CREATE UNIQUE INDEX payment_methods_default_key ON payment_methods (account_id) WHERE is_default;
CREATE INDEX payment_methods_account ON payment_methods (account_id, created_at, id);
CREATE UNIQUE INDEX payments_order_key ON payments (provider, provider_order_id);
CREATE UNIQUE INDEX payments_request_key ON payments (account_id, purpose, request_key);
CREATE INDEX payments_account ON payments (account_id, created_at, id);
CREATE INDEX payments_all ON payments (created_at, id) WHERE amount IS NOT NULL;
CREATE INDEX payments_charges ON payments (method_id) WHERE method_id IS NOT NULL;
CREATE INDEX payments_open ON payments (poll_at, id) WHERE poll_at IS NOT NULL;
CREATE UNIQUE INDEX refunds_request_key ON refunds (payment_id, requested_by, request_key);
CREATE INDEX refunds_open ON refunds (poll_at, id) WHERE poll_at IS NOT NULL;
CREATE INDEX invoices_unpaid ON invoices (account_id) WHERE status = 'issued';
CREATE INDEX upstreams_in_order ON upstreams (created_at, id);
CREATE INDEX upstreams_due ON upstreams (next_import_at) WHERE next_import_at IS NOT NULL;
CREATE INDEX decks_of_upstream ON decks (upstream_id, created_at);
CREATE INDEX decks_unfinished ON decks (created_at) WHERE in_force_at IS NULL;
CREATE INDEX deck_imports_of_upstream ON deck_imports (upstream_id, created_at, id);
CREATE INDEX deck_imports_queued ON deck_imports (upstream_id, created_at, id) WHERE status = 'queued';
CREATE UNIQUE INDEX deck_imports_running ON deck_imports (upstream_id) WHERE status = 'running';
CREATE INDEX trunks_in_order ON trunks (account_id, created_at, id);
CREATE UNIQUE INDEX trunks_default ON trunks (account_id) WHERE is_default;
CREATE INDEX number_groups_listed ON number_groups (id) WHERE free > 0;
CREATE INDEX number_groups_by_area ON number_groups (country, kind, area_code) WHERE free > 0;
CREATE INDEX number_stock_free ON number_stock (group_id, e164) WHERE state = 'free';
CREATE INDEX number_stock_of_upstream ON number_stock (upstream_id, e164);
CREATE INDEX number_stock_of_country ON number_stock (country, e164);
CREATE INDEX number_imports_queued ON number_imports (created_at, id) WHERE status = 'queued';
CREATE UNIQUE INDEX number_imports_running ON number_imports (status) WHERE status = 'running';
CREATE INDEX number_imports_file ON number_imports (content_hash) WHERE status IN ('queued', 'running');
CREATE INDEX number_orders_in_order ON number_orders (account_id, created_at, id);
CREATE INDEX number_orders_to_try ON number_orders (try_at) WHERE try_at IS NOT NULL;
CREATE INDEX number_orders_awaiting_documents ON number_orders (created_at) WHERE status = 'pending_documents';
CREATE UNIQUE INDEX number_orders_of_intake ON number_orders (intake_id) WHERE intake_id IS NOT NULL;
CREATE INDEX number_orders_open ON number_orders (trunk_id) WHERE status IN ('pending_documents', 'provisioning');
CREATE UNIQUE INDEX numbers_let ON numbers (e164) WHERE released_at IS NULL;
CREATE INDEX numbers_in_order ON numbers (account_id, since, id) WHERE released_at IS NULL;
CREATE INDEX numbers_of_trunk ON numbers (trunk_id, since, id) WHERE released_at IS NULL;
CREATE INDEX numbers_to_renew ON numbers (try_at) WHERE released_at IS NULL;
CREATE INDEX cdrs_of_account ON cdrs (account_id, started_at, id);
CREATE INDEX cdrs_of_trunk ON cdrs (account_id, trunk_id, started_at, id);
CREATE INDEX live_calls_of_account ON live_calls (account_id, started_at, token);
CREATE INDEX live_calls_due ON live_calls (expires_at);
CREATE INDEX live_calls_to_end ON live_calls (edge_id) WHERE hang_up;
CREATE INDEX onboardings_suspended ON onboardings (account_id) WHERE suspended_from IS NOT NULL;
CREATE INDEX numbers_by_e164 ON numbers (e164, since);
CREATE INDEX cdr_hours_in_order ON cdr_hours (hour, account_id);
CREATE INDEX cdr_days_in_order ON cdr_days (day, account_id);
CREATE INDEX cdrs_by_called ON cdrs (account_id, called /*pg COLLATE "C" */, started_at, id);
CREATE INDEX cdrs_by_calling ON cdrs (account_id, calling /*pg COLLATE "C" */, started_at, id);
CREATE INDEX cdr_exports_of_account ON cdr_exports (account_id, requested_at, id);
CREATE INDEX cdr_exports_by_age ON cdr_exports (requested_at);
CREATE INDEX cdr_exports_unfinished ON cdr_exports (requested_at) WHERE status IN ('queued', 'running');
CREATE INDEX cdr_exports_to_expire ON cdr_exports (expires_at) WHERE status = 'ready';
CREATE INDEX cdr_exports_of_file ON cdr_exports (content_hash) WHERE content_hash IS NOT NULL;
CREATE INDEX account_managers_in_order ON account_managers (created_at, id);
CREATE INDEX accounts_of_manager ON accounts (account_manager_id, id) WHERE account_manager_id IS NOT NULL;
CREATE INDEX onboardings_by_check ON onboardings (onboarding_status, account_id) WHERE NOT is_carrier;
CREATE INDEX account_words_of_account ON account_words (account_id, word);
CREATE INDEX admin_notes_in_order ON admin_notes (account_id, created_at, id);
CREATE INDEX access_tokens_impersonator ON access_tokens (impersonator_id) WHERE impersonator_id IS NOT NULL;
CREATE INDEX users_of_team ON users (id) WHERE roles <> 'customer';
CREATE INDEX tickets_of_account ON tickets (account_id, created_at, id);
CREATE INDEX tickets_open ON tickets (account_id) WHERE status <> 'closed';
CREATE INDEX tickets_in_order ON tickets (created_at, id);
CREATE INDEX tickets_by_status ON tickets (status, created_at, id);
CREATE INDEX tickets_by_priority ON tickets (priority, created_at, id);
CREATE INDEX notices_in_order ON notices (starts_at, id);
CREATE INDEX audit_log_in_order ON audit_log (ts, seq);
CREATE INDEX audit_log_of_account ON audit_log (account_id, ts, seq);
CREATE INDEX audit_log_of_user ON audit_log (user_id, ts, seq);
CREATE INDEX audit_log_of_action ON audit_log (action, ts, seq);
CREATE INDEX audit_log_failures ON audit_log (ts, seq) WHERE outcome = 'failure';
CREATE INDEX audit_log_of_actor ON audit_log (actor, ts, seq) WHERE actor <> 'customer';
CREATE INDEX traffic_age ON traffic (span, at);
CREATE INDEX sign_in_failures_locked ON sign_in_failures (locked_until) WHERE user_id IS NOT NULL;
CREATE INDEX onboardings_unapproved ON onboardings (account_id)
    WHERE NOT is_carrier AND COALESCE(suspended_from, onboarding_status) <> 'approved';
CREATE INDEX open_ends_by_age ON open_ends (closed_at);
CREATE INDEX cdr_amendments_of_ledger ON cdr_amendments (ledger_id) WHERE ledger_id IS NOT NULL;
CREATE INDEX number_orders_undone ON number_orders (account_id, id) WHERE status IN ('failed', 'cancelled');
CREATE INDEX deleted_allow_entries_by_address ON deleted_allow_entries (first_address);
CREATE INDEX suspended_cdrs_in_order ON suspended_cdrs (suspended_at, id);
CREATE INDEX suspended_cdrs_by_reason ON suspended_cdrs (reason, suspended_at, id);
CREATE INDEX trunks_newest ON trunks (created_at, id);
CREATE INDEX ip_allow_entries_in_order ON ip_allow_entries (trunk_id, created_at, id);
CREATE INDEX ip_allow_entries_by_address ON ip_allow_entries (first_address);
CREATE INDEX second_factor_guesses_age ON second_factor_guesses (guessed_at);
CREATE UNIQUE INDEX passkeys_credential ON passkeys (credential_id);
CREATE INDEX passkeys_user ON passkeys (user_id, created_at, id);
CREATE INDEX passkey_challenges_expiry ON passkey_challenges (expires_at);
CREATE INDEX jobs_due ON jobs (class, run_at, id) WHERE dead_at IS NULL;
CREATE UNIQUE INDEX jobs_unique_key ON jobs (kind, unique_key);
CREATE INDEX audit_checkpoints_of_file ON audit_checkpoints (content_hash);
CREATE INDEX credits_by_account ON credits (account_id, created_at);
CREATE INDEX credits_by_time ON credits (created_at, id) WHERE status <> 'posted';
CREATE INDEX credits_pending ON credits (created_at) WHERE status = 'pending';
CREATE INDEX chargebacks_by_time ON chargebacks (created_at, id);
CREATE INDEX chargebacks_by_status ON chargebacks (status, created_at, id);
CREATE INDEX chargebacks_by_account ON chargebacks (account_id, created_at, id);
CREATE INDEX chargebacks_by_payment ON chargebacks (payment_id);
CREATE INDEX sandbox_disputes_by_time ON sandbox_disputes (created_at);
CREATE INDEX payments_by_card ON payments (card, card_used_at) WHERE card IS NOT NULL;
CREATE INDEX payment_cards_by_use ON payment_cards (last_used_at);
CREATE INDEX api_keys_account ON api_keys (account_id, created_at, id) WHERE revoked_at IS NULL;
CREATE INDEX api_keys_team ON api_keys (created_at, id) WHERE is_team AND revoked_at IS NULL;
CREATE INDEX api_keys_creator ON api_keys (created_by) WHERE revoked_at IS NULL;
CREATE INDEX api_keys_revoked ON api_keys (revoked_at) WHERE revoked_at IS NOT NULL;
CREATE UNIQUE INDEX events_position ON events (position);
CREATE INDEX events_unpublished ON events (ordinal, id) WHERE position IS NULL;
CREATE INDEX events_account ON events (account_id, position);
CREATE INDEX events_age ON events (created_at);
CREATE INDEX ended_calls_waiting ON ended_calls (account_id, created_at, cdr_id) WHERE event_id IS NULL;
CREATE INDEX ended_calls_event ON ended_calls (event_id, started_at, cdr_id);
CREATE INDEX ended_calls_age ON ended_calls (created_at);
CREATE INDEX webhook_endpoints_account ON webhook_endpoints (account_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX webhook_endpoints_team ON webhook_endpoints (created_at, id) WHERE is_team AND deleted_at IS NULL;
CREATE INDEX webhook_endpoints_calls ON webhook_endpoints (account_id) WHERE wants_calls AND deleted_at IS NULL;
CREATE INDEX webhook_endpoints_deleted ON webhook_endpoints (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE UNIQUE INDEX webhook_deliveries_event ON webhook_deliveries (endpoint_id, event_id);
CREATE INDEX webhook_deliveries_list ON webhook_deliveries (endpoint_id, created_at, id);
CREATE INDEX webhook_deliveries_status ON webhook_deliveries (endpoint_id, status, created_at, id);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_id, next_attempt_at, id)
    WHERE next_attempt_at IS NOT NULL;
CREATE INDEX webhook_deliveries_age ON webhook_deliveries (created_at);
CREATE INDEX payments_account_by_status ON payments (account_id, status, created_at, id) WHERE amount IS NOT NULL;
CREATE INDEX payments_by_shown_status ON payments
    ((CASE WHEN status = 'expired' THEN 'failed'
           WHEN status = 'completed' AND refunded = amount THEN 'refunded' ELSE status END), created_at, id)
    WHERE amount IS NOT NULL;
CREATE INDEX payments_account_by_shown_status ON payments
    (account_id, (CASE WHEN status = 'expired' THEN 'failed'
                       WHEN status = 'completed' AND refunded = amount THEN 'refunded' ELSE status END), created_at, id)
    WHERE amount IS NOT NULL;
CREATE INDEX invoices_of_account_by_status ON invoices (account_id, status, created_at, id);
CREATE INDEX number_orders_by_status ON number_orders (account_id, status, created_at, id);
CREATE INDEX numbers_of_country ON numbers (account_id, country, since, id) WHERE released_at IS NULL;
CREATE INDEX numbers_of_trunk_in_country ON numbers (trunk_id, country, since, id) WHERE released_at IS NULL;
CREATE INDEX numbers_of_account_by_number ON numbers (account_id, e164 /*pg COLLATE "C" */) WHERE released_at IS NULL;
CREATE INDEX cdr_exports_of_team ON cdr_exports (requested_at, id) WHERE is_team;
CREATE INDEX usage_trunks_in_order ON usage_trunks (span, slot, account_id);
CREATE INDEX users_by_email ON users (email /*pg COLLATE "C" */);
CREATE INDEX numbers_by_number ON numbers (e164 /*pg COLLATE "C" */) WHERE released_at IS NULL;
CREATE INDEX invoices_by_number ON invoices (number /*pg COLLATE "C" */);
CREATE INDEX tickets_by_subject ON tickets ((lower(subject)) /*pg COLLATE "C" */, id);
CREATE INDEX intakes_other_by_status ON intakes (status) WHERE purpose <> 'kyb';
CREATE INDEX upstreams_down ON upstreams (id) WHERE health = 'down';
CREATE INDEX number_imports_of_upstream ON number_imports (upstream_id, created_at, id);
CREATE INDEX number_groups_by_price ON number_groups (country, monthly) WHERE free > 0;
CREATE INDEX rate_plans_in_order ON rate_plans (created_at, id);
CREATE UNIQUE INDEX rate_plans_by_name ON rate_plans (name);
CREATE INDEX rate_plan_assignments_of_plan ON rate_plan_assignments (rate_plan_id, account_id);
CREATE INDEX deck_imports_held ON deck_imports (upstream_id) WHERE status = 'held';
CREATE INDEX deck_imports_file ON deck_imports (content_hash) WHERE status IN ('queued', 'running', 'held');
CREATE INDEX call_disputes_account ON call_disputes (account_id, created_at, id);
CREATE INDEX call_disputes_status ON call_disputes (status, created_at, id);
CREATE INDEX call_disputes_created ON call_disputes (created_at, id);
CREATE INDEX call_disputes_credited ON call_disputes (account_id, resolved_at) WHERE status = 'credited';
CREATE INDEX upstream_statements_of_upstream ON upstream_statements (upstream_id, created_at, id);
CREATE INDEX upstream_statements_pending ON upstream_statements (upstream_id) WHERE status IN ('queued', 'running');
CREATE INDEX upstream_statements_file ON upstream_statements (content_hash) WHERE status IN ('queued', 'running');
CREATE INDEX upstream_statements_with_lines ON upstream_statements (period_to)
    WHERE status = 'completed' AND lines_purged_at IS NULL;
CREATE INDEX route_stats_updated ON route_stats (updated_at);
CREATE INDEX route_breakers_changed ON route_breakers (changed_at);
CREATE INDEX price_comparisons_created ON price_comparisons (created_at);
CREATE INDEX price_comparisons_csv ON price_comparisons (csv_hash) WHERE csv_hash IS NOT NULL;
CREATE INDEX price_comparisons_xlsx ON price_comparisons (xlsx_hash) WHERE xlsx_hash IS NOT NULL;
CREATE INDEX price_notices_account ON price_notices (account_id, created_at, id);
CREATE INDEX price_notices_created ON price_notices (created_at, id);
CREATE INDEX price_notices_comparison ON price_notices (comparison_id);
CREATE INDEX deck_mails_created ON deck_mails (created_at, id);
CREATE INDEX deck_mails_upstream ON deck_mails (upstream_id, created_at, id);
CREATE INDEX deck_mail_files_mail ON deck_mail_files (deck_mail_id, created_at);
CREATE UNIQUE INDEX cdrs_imported_call ON cdrs (call_id, started_at, trunk_id, leg) WHERE imported;
CREATE INDEX cdrs_switched_call ON cdrs (call_id, started_at, id) WHERE NOT imported;
CREATE INDEX decks_by_time ON decks (in_force_at);
CREATE INDEX cdr_archive_files_of_file ON cdr_archive_files (content_hash);
CREATE INDEX cdr_archive_files_unverified ON cdr_archive_files (day, part) WHERE verified_at IS NULL;
CREATE INDEX cdr_archive_files_with_numbers ON cdr_archive_files (day, part) WHERE has_numbers;
CREATE UNIQUE INDEX ledger_transactions_by_time ON ledger_transactions (account_id, currency, created_at, number);
CREATE INDEX ledger_transactions_by_kind ON ledger_transactions (account_id, currency, kind, created_at, number)
    WHERE kind <> 'call';
CREATE VIEW customers AS
    SELECT o.account_id AS id, a.company_name, a.contact_email, o.onboarding_status, o.suspended_from,
           o.suspension_reason, a.account_manager_id, a.vat_status,
           CASE WHEN v.treatment = 'reverse_charge' AND (a.vat_id IS NULL OR a.vat_id <> COALESCE(v.treatment_vat_id, ''))
                THEN NULL ELSE v.treatment END AS vat_treatment,
           COALESCE(v.is_reseller, FALSE) AS telecom_reseller, COALESCE(b.balance, 0) AS balance, a.created_at
    FROM onboardings o
    JOIN accounts a ON a.id = o.account_id
    LEFT JOIN vat_profiles v ON v.account_id = o.account_id
    LEFT JOIN ledger_balances b ON b.account_id = o.account_id AND b.currency = 'EUR'
    WHERE NOT o.is_carrier;
CREATE TRIGGER ledger_transactions_not_updated BEFORE UPDATE ON ledger_transactions
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_transactions_not_deleted BEFORE DELETE ON ledger_transactions
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_splits_not_updated BEFORE UPDATE ON ledger_splits
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_splits_not_deleted BEFORE DELETE ON ledger_splits
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
INSERT INTO audit_head VALUES (1, 0, X'');
INSERT INTO waitlist_tail VALUES (1, 0);
INSERT INTO versions VALUES ('addresses', 0, 0);
INSERT INTO versions VALUES ('gateways', 0, 0);
INSERT INTO versions VALUES ('rate_plans', 0, 0);
INSERT INTO versions VALUES ('routing_policies', 0, 0);
INSERT INTO versions VALUES ('tariff', 0, 0);
INSERT INTO audit_counted VALUES (1, 0);
INSERT INTO event_head VALUES (1, 0, 0, NULL);
INSERT INTO deck_mailbox VALUES (1, 0, NULL, NULL);
INSERT INTO cdr_archive VALUES (1, 0, 0);
