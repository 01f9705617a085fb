//! Names violated unique constraints as PostgreSQL does.
//!
//! SQLite says `users.email` for a constraint or plain index and `index 'users_email_live'` for an expression index.

use rusqlite::Connection;

use crate::error::DbError;

/// Replaces SQLite's description of a constraint by its name.
pub(super) fn name(connection: &Connection, error: DbError) -> DbError {
    let DbError::Unique(subject) = error else { return error };
    let named = subject.strip_prefix("index '").and_then(|rest| rest.strip_suffix('\''));
    DbError::Unique(match named {
        Some(index) => index.to_owned(),
        None => of_columns(connection, &subject).unwrap_or(subject),
    })
}

/// The name of the index or constraint over exactly these columns, given as `users.account_id, users.email`.
fn of_columns(connection: &Connection, subject: &str) -> Option<String> {
    let (table, _) = subject.split_once('.')?;
    let columns: Vec<&str> = subject.split(", ").filter_map(|part| Some(part.split_once('.')?.1)).collect();
    let mut statement = connection
        .prepare_cached(
            "SELECT list.name, list.origin FROM pragma_index_list(?1) AS list
             WHERE list.\"unique\" AND ?2 = (SELECT group_concat(name, ',' ORDER BY seqno) FROM pragma_index_info(list.name))
             ORDER BY list.origin = 'c' DESC",
        )
        .ok()?;
    let found = statement.query_row([table, &columns.join(",")], |row| Ok((row.get(0)?, row.get(1)?)));
    let (index, origin): (String, String) = found.ok()?;
    Some(match origin.as_str() {
        "pk" => format!("{table}_pkey"),
        "u" => format!("{table}_{}_key", columns.join("_")),
        _ => index,
    })
}
