//! The keys that the rows of the audit log may be signed with: that of the master secret in use, during a rotation that
//! of the previous one, and for older rows those of the secrets that were retired.
//!
//! A retired key cannot forge the past: the first row signed with its successor holds the hash of the last one before.

use crate::crypto::keys::{Keys, Purpose, mac_with};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use db::{Conn, DbError, insert, params, sql};

#[derive(Clone)]
pub struct Ring {
    keys: Keys,
    /// Each with the last row that it may sign.
    retired: Vec<(i64, [u8; 32])>,
}

/// More than an installation rotates its master secret.
const MAX_RETIRED: i64 = 1000;

impl Ring {
    pub async fn load(conn: &mut Conn, keys: &Keys) -> Result<Ring, DbError> {
        let sealed: Vec<(i64, Vec<u8>)> = conn
            .all(
                sql!("SELECT until_seq, sealed_audit_key FROM retired_master_secrets ORDER BY until_seq LIMIT $1"),
                params![MAX_RETIRED],
            )
            .await?;
        let open = |(until, sealed): (i64, Vec<u8>)| {
            let key = keys.open(Purpose::Audit, &sealed)?;
            Some((until, key.try_into().ok()?))
        };
        Ok(Ring { keys: keys.clone(), retired: sealed.into_iter().filter_map(open).collect() })
    }

    /// Whether the row with this number may have this HMAC.
    pub(super) fn signed(&self, seq: i64, message: &[u8], tag: &[u8]) -> bool {
        let by_retired = |(until, key): &(i64, [u8; 32])| {
            seq <= *until && verify_slices_are_equal(&mac_with(key, message), tag).is_ok()
        };
        self.keys.mac_matches(Purpose::Audit, message, tag) || self.retired.iter().any(by_retired)
    }
}

/// Keeps the audit key of the previous master secret, sealed, for the rows so far, and seals the keys of those before
/// it again. Does nothing without a previous one.
pub async fn retire_key(conn: &mut Conn, keys: &Keys) -> Result<(), DbError> {
    let Some(previous) = keys.previous() else { return Ok(()) };
    let Ring { retired, .. } = Ring::load(conn, keys).await?;
    for (until, key) in retired {
        let sql = sql!("UPDATE retired_master_secrets SET sealed_audit_key = $2 WHERE until_seq = $1");
        conn.exec(sql, params![until, keys.seal(Purpose::Audit, &key)]).await?;
    }
    let (seq, _) = super::head(conn).await?;
    insert!(
        conn,
        retired_master_secrets {
            mark: previous.fingerprint().as_slice(),
            sealed_audit_key: keys.seal(Purpose::Audit, previous.audit_key()),
            until_seq: seq,
            retired_at: conn.now()
        },
        "ON CONFLICT (mark) DO UPDATE SET until_seq = excluded.until_seq"
    )
    .await?;
    Ok(())
}
