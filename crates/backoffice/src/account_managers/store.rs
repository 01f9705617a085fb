//! Table `account_managers`.

use db::{Conn, DbError, insert, params, row, sql};
use values::{Email, Text, Time, id};

id! {
    /// Id of an account manager.
    pub struct AccountManagerId;
}

row! {
    #[derive(Clone)]
    pub struct ManagerRow {
        pub id: AccountManagerId,
        pub name: Text<1, 100>,
        pub email: Email,
        pub is_active: bool,
        pub created_at: Time,
    }
}

/// Inserts an account manager; false when the email address has one already.
pub async fn insert(conn: &mut Conn, new: &ManagerRow) -> Result<bool, DbError> {
    let inserted = insert!(
        conn,
        account_managers {
            id: new.id,
            name: new.name,
            email: new.email,
            is_active: new.is_active,
            created_at: new.created_at
        },
        "ON CONFLICT (email) DO NOTHING"
    )
    .await?;
    Ok(inserted == 1)
}

pub async fn list(conn: &mut Conn, (at, id): (Time, AccountManagerId), limit: i64) -> Result<Vec<ManagerRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            ManagerRow::COLS,
            " FROM account_managers WHERE (created_at, id) < ($1, $2) ORDER BY created_at DESC, id DESC LIMIT $3"
        ),
        params![at, id, limit],
    )
    .await
}

/// The account manager, locked until the transaction ends.
pub async fn find_for_update(conn: &mut Conn, id: AccountManagerId) -> Result<Option<ManagerRow>, DbError> {
    conn.opt(
        sql!("SELECT ", ManagerRow::COLS, " FROM account_managers WHERE id = $1 /*pg FOR NO KEY UPDATE */"),
        params![id],
    )
    .await
}

/// Whether customers can be assigned to this account manager.
pub async fn is_active(conn: &mut Conn, id: AccountManagerId) -> Result<bool, DbError> {
    let sql = sql!("SELECT is_active FROM account_managers WHERE id = $1");
    let row: Option<(bool,)> = conn.opt(sql, params![id]).await?;
    Ok(row.is_some_and(|(active,)| active))
}

pub async fn update(conn: &mut Conn, manager: &ManagerRow) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE account_managers SET name = $2, email = $3, is_active = $4 WHERE id = $1"),
        params![manager.id, manager.name, manager.email, manager.is_active],
    )
    .await?;
    Ok(())
}
