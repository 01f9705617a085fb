//! What the queue reads beside the prospect itself. It writes nothing.

use crate::db::{Conn, DbError, params, row, sql};
use crate::values::{AccountId, Email, KybId};

row! {
    /// How far a prospect's papers are.
    pub struct Papers {
        pub kyb_status: Option<String>,
        pub card_status: Option<String>,
        pub card_brand: Option<String>,
        pub card_last4: Option<String>,
        pub profiled: bool,
    }
}

pub async fn papers(conn: &mut Conn, account: AccountId) -> Result<Papers, DbError> {
    conn.one(
        sql!(
            "SELECT
                (SELECT i.status FROM intakes i WHERE i.account_id = $1 AND i.purpose = 'kyb'
                 ORDER BY i.created_at DESC, i.id DESC LIMIT 1),
                (SELECT c.status FROM card_verifications c WHERE c.account_id = $1
                 ORDER BY c.created_at DESC, c.id DESC LIMIT 1),
                (SELECT c.brand FROM card_verifications c WHERE c.account_id = $1
                 ORDER BY c.created_at DESC, c.id DESC LIMIT 1),
                (SELECT c.last4 FROM card_verifications c WHERE c.account_id = $1
                 ORDER BY c.created_at DESC, c.id DESC LIMIT 1),
                EXISTS (SELECT 1 FROM traffic_profiles p WHERE p.account_id = $1)"
        ),
        params![account],
    )
    .await
}

pub async fn user_emails(conn: &mut Conn, account: AccountId) -> Result<Vec<(Email,)>, DbError> {
    conn.all(sql!("SELECT email FROM users WHERE account_id = $1 ORDER BY id LIMIT 100"), params![account]).await
}

row! {
    pub struct KybIntake {
        pub id: KybId,
        pub required_docs: String,
    }
}

pub async fn latest_kyb(conn: &mut Conn, account: AccountId) -> Result<Option<KybIntake>, DbError> {
    conn.opt(
        sql!(
            "SELECT id, required_docs FROM intakes WHERE account_id = $1 AND purpose = 'kyb'
             ORDER BY created_at DESC, id DESC LIMIT 1"
        ),
        params![account],
    )
    .await
}

pub async fn uploaded_kinds(conn: &mut Conn, intake: KybId) -> Result<Vec<(String,)>, DbError> {
    conn.all(sql!("SELECT DISTINCT kind FROM intake_documents WHERE intake_id = $1"), params![intake]).await
}
