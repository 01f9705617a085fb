//! Table `demo_data`.

use super::types::DemoDataStatus;
use super::{FILL, ONLY};
use db::{Conn, DbError, params, row, sql};

row! {
    pub struct DemoDataRow {
        pub status: DemoDataStatus,
        /// In thousandths.
        pub progress: i64,
        pub message: Option<String>,
        /// Whether there is a job that works on it.
        pub has_job: bool,
    }
}

impl DemoDataRow {
    /// Whether nobody works on it any more.
    pub fn is_abandoned(&self) -> bool {
        self.status == DemoDataStatus::Running && !self.has_job
    }
}

pub async fn find(conn: &mut Conn) -> Result<Option<DemoDataRow>, DbError> {
    conn.opt(
        sql!(
            "SELECT status, progress, message, EXISTS (SELECT 1 FROM jobs WHERE kind = $1 AND unique_key = $2)
             FROM demo_data WHERE id = 1"
        ),
        params![FILL.name, ONLY],
    )
    .await
}

/// Begins the work; false if somebody does it already.
pub async fn begin(conn: &mut Conn) -> Result<bool, DbError> {
    let begun = conn
        .exec(
            sql!(
                "INSERT INTO demo_data (id, status, progress, started_at) VALUES (1, $1, 0, $2)
                 ON CONFLICT (id) DO UPDATE
                     SET status = $1, progress = 0, message = NULL, started_at = $2, ended_at = NULL
                     WHERE demo_data.status <> $1
                         OR NOT EXISTS (SELECT 1 FROM jobs WHERE kind = $3 AND unique_key = $4)"
            ),
            params![DemoDataStatus::Running, conn.now(), FILL.name, ONLY],
        )
        .await?;
    Ok(begun == 1)
}

pub async fn set_progress(conn: &mut Conn, progress: i64) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE demo_data SET progress = $1 WHERE id = 1"), params![progress]).await?;
    Ok(())
}

pub async fn end(conn: &mut Conn, status: DemoDataStatus, message: &str) -> Result<(), DbError> {
    let sql = sql!(
        "UPDATE demo_data SET status = $1, message = $2, ended_at = $3,
             progress = CASE WHEN $4 THEN 1000 ELSE progress END
         WHERE id = 1"
    );
    conn.exec(sql, params![status, message, conn.now(), status == DemoDataStatus::Done]).await?;
    Ok(())
}

/// Whether there is an account beside the operator's.
pub async fn has_customers(conn: &mut Conn) -> Result<bool, DbError> {
    let (found,) = conn.one(sql!("SELECT EXISTS (SELECT 1 FROM onboardings WHERE NOT is_carrier)"), params![]).await?;
    Ok(found)
}
