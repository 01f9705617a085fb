//! Which master secret the database belongs to, and its rotation.
//!
//! The first node to open a database stores a fingerprint of its master secret. A node with another secret must not
//! start: it could neither verify the audit chain nor decrypt anything. A node that has the stored secret as its previous
//! one begins a rotation: its own becomes the current one, and both are in use until everything is sealed with the new
//! one and [`finish`] retires the old one.

use serde_json::json;

use super::StartError;
use crate::audit;
use crate::crypto::keys::Keys;
use crate::jobs::{self, Kind};
use db::{Conn, Db, DbError, insert, params, sql};

/// Seals everything with the current master secret.
pub const RESEAL: Kind = Kind::new("secrets.reseal").attempts(20);

/// What the database says of this node's master secret.
#[derive(Debug, PartialEq, Eq)]
enum Standing {
    /// It is the current one.
    Current,
    /// It is the current one, and the previous one is still in use.
    Rotating,
    /// The rotation lacks the previous secret.
    PreviousMissing,
    /// It was replaced before.
    Retired,
    Unknown,
}

/// Checks that the database belongs to the master secret, and begins its rotation if it belongs to the previous one.
pub(super) async fn claim_database(db: &Db, keys: &Keys) -> Result<(), StartError> {
    match db.tx(keys.clone(), |conn, keys| Box::pin(claim(conn, keys))).await? {
        Standing::Current => Ok(()),
        Standing::Rotating => {
            tracing::warn!("the master secret is being rotated; end the rotation with `trunkline secrets rotate`");
            Ok(())
        }
        Standing::PreviousMissing => Err("the rotation of the master secret has not ended: set the old one as \
             TRUNKLINE_MASTER_SECRET_PREVIOUS and run `trunkline secrets rotate`"
            .into()),
        Standing::Retired => Err("this master secret was replaced by another one".into()),
        Standing::Unknown => Err("the database was created with another master secret; \
             give every node the same TRUNKLINE_MASTER_SECRET, or the same data folder"
            .into()),
    }
}

async fn claim(conn: &mut Conn, keys: &Keys) -> Result<Standing, DbError> {
    let own = keys.fingerprint();
    insert!(conn, installation { id: 1i64, master_mark: own.as_slice() }, "ON CONFLICT (id) DO NOTHING").await?;
    let (current, previous) = marks(conn).await?;
    let given = keys.previous().map(|previous| previous.fingerprint());
    let given_is = |mark: &[u8]| given.is_some_and(|given| given == *mark);
    match previous {
        None if current == own => Ok(Standing::Current),
        None if !given_is(&current) => Ok(Standing::Unknown),
        None if is_retired(conn, &own).await? => Ok(Standing::Retired),
        None => begin(conn, &own, &current).await,
        // Nodes on either side of the rotation need both.
        Some(previous) if current == own && given_is(&previous) => {
            jobs::enqueue_once(conn, RESEAL, "all", json!({})).await?;
            Ok(Standing::Rotating)
        }
        Some(previous) if previous == own && given_is(&current) => Ok(Standing::Rotating),
        Some(previous) if current == own || previous == own => Ok(Standing::PreviousMissing),
        Some(_) => Ok(Standing::Unknown),
    }
}

async fn begin(conn: &mut Conn, own: &[u8], current: &[u8]) -> Result<Standing, DbError> {
    let sql = sql!(
        "UPDATE installation SET master_mark = $1, previous_mark = $2
         WHERE id = 1 AND master_mark = $2 AND previous_mark IS NULL"
    );
    if conn.exec(sql, params![own, current]).await? != 1 {
        // Another node was first.
        return Err(conn.retry_conflict());
    }
    jobs::enqueue_once(conn, RESEAL, "all", json!({})).await?;
    Ok(Standing::Rotating)
}

/// The fingerprints of the current master secret and of the one that is being replaced.
async fn marks(conn: &mut Conn) -> Result<(Vec<u8>, Option<Vec<u8>>), DbError> {
    conn.one(sql!("SELECT master_mark, previous_mark FROM installation WHERE id = 1"), params![]).await
}

async fn is_retired(conn: &mut Conn, mark: &[u8]) -> Result<bool, DbError> {
    let sql = sql!("SELECT EXISTS (SELECT 1 FROM retired_master_secrets WHERE mark = $1)");
    let (retired,) = conn.one(sql, params![mark]).await?;
    Ok(retired)
}

/// Whether these keys open everything in the database. One that no node has used yet belongs to nobody.
pub async fn is_opened_by(conn: &mut Conn, keys: &Keys) -> Result<bool, DbError> {
    let sql = sql!("SELECT master_mark, previous_mark FROM installation WHERE id = 1");
    let Some((current, previous)) = conn.opt::<(Vec<u8>, Option<Vec<u8>>)>(sql, params![]).await? else {
        return Ok(true);
    };
    let given = [Some(keys.fingerprint()), keys.previous().map(|keys| keys.fingerprint())];
    let is_given = |mark: &Vec<u8>| given.iter().flatten().any(|given| given.as_slice() == mark.as_slice());
    Ok(is_given(&current) && previous.as_ref().is_none_or(is_given))
}

/// Whether two master secrets are in use.
pub async fn is_rotating(conn: &mut Conn) -> Result<bool, DbError> {
    Ok(marks(conn).await?.1.is_some())
}

/// Ends the rotation: the previous secret is retired, and nodes need it no longer. False if there was none.
pub async fn finish(conn: &mut Conn, keys: &Keys) -> Result<bool, DbError> {
    let own = keys.fingerprint();
    let sql = sql!(
        "UPDATE installation SET previous_mark = NULL
         WHERE id = 1 AND master_mark = $1 AND previous_mark IS NOT NULL"
    );
    let ended = conn.exec(sql, params![own.as_slice()]).await? == 1;
    if ended {
        audit::retire_key(conn, keys).await?;
    }
    Ok(ended)
}
