-- Collections of documents that the carrier's team reviews.
CREATE TABLE intakes (
    id                  UUID PRIMARY KEY NOT NULL,
    account_id          UUID NOT NULL REFERENCES accounts (id),
    purpose             TEXT NOT NULL,
    status              TEXT NOT NULL,
    related_resource_id UUID,
    -- Kinds of document, separated by spaces.
    required_docs       TEXT NOT NULL,
    reviewer_note       TEXT,
    submitted_at        BIGINT,
    reviewed_at         BIGINT,
    created_at          BIGINT NOT NULL,
    updated_at          BIGINT NOT NULL
);
-- A rejected intake can be followed by another; two can never be open at once.
CREATE UNIQUE INDEX intakes_current_kyb ON intakes (account_id) WHERE purpose = 'kyb' AND status <> 'rejected';
CREATE INDEX intakes_of_account ON intakes (account_id, created_at, id);
CREATE INDEX intakes_in_order ON intakes (created_at, id);
CREATE INDEX intakes_by_status ON intakes (status, created_at, id);
CREATE INDEX intakes_kyb_in_order ON intakes (created_at, id) WHERE purpose = 'kyb';
CREATE INDEX intakes_kyb_by_status ON intakes (status, created_at, id) WHERE purpose = 'kyb';

CREATE TABLE intake_documents (
    id            UUID PRIMARY KEY NOT NULL,
    intake_id     UUID NOT NULL REFERENCES intakes (id),
    kind          TEXT NOT NULL,
    file_name     TEXT NOT NULL,
    content_type  TEXT NOT NULL,
    size_bytes    BIGINT NOT NULL,
    content_hash  BYTEA NOT NULL,
    status        TEXT NOT NULL,
    reject_reason TEXT,
    uploaded_at   BIGINT NOT NULL
);
CREATE INDEX intake_documents_intake ON intake_documents (intake_id, uploaded_at, id);
CREATE INDEX intake_documents_content ON intake_documents (content_hash);
