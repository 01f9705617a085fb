//! Everything that is stored about a customer, as a folder: a file of JSON lines for each table, and the documents.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use data_encoding::HEXLOWER;
use futures_util::TryStreamExt;
use serde_json::{Map, Value as Json, json};
use uuid::Uuid;

use super::store;
use db::{Conn, DbError, NamedRow, Value, params};
use platform::app::{App, StartError};
use platform::durable::create_folder;
use platform::outside::files::ContentHash;
use values::{AccountId, Rfc3339, Time};

/// CDRs read at a time.
const PAGE_SIZE: i64 = 5000;
const MAX_NAME_CHARS: usize = 100;

/// How much was written.
pub struct Exported {
    pub rows: u64,
    pub files: usize,
}

/// The documents of a customer: where they are stored, and their names.
type Documents = Vec<(ContentHash, String)>;

/// Writes everything to a new folder; `None` if there is no such customer.
pub async fn export(app: &App, account: AccountId, folder: &Path) -> Result<Option<Exported>, StartError> {
    if !store::is_customer(&mut *app.db.read().await?, account).await? {
        return Ok(None);
    }
    if folder.exists() {
        return Err(format!("{} exists already", folder.display()).into());
    }
    create_folder(folder).map_err(|error| cannot_write(folder, &error))?;
    let input = (account, folder.to_owned());
    let (rows, documents) =
        app.db.snapshot(input, |conn, (account, folder)| Box::pin(write_tables(conn, *account, folder))).await?;
    let below = folder.join("files");
    create_folder(&below).map_err(|error| cannot_write(&below, &error))?;
    for (number, (hash, name)) in documents.iter().enumerate() {
        let path = below.join(format!("{:03}-{}", number + 1, safe_name(name)));
        copy_document(app, hash, &path).await?;
    }
    Ok(Some(Exported { rows, files: documents.len() }))
}

async fn copy_document(app: &App, hash: &ContentHash, path: &Path) -> Result<(), StartError> {
    let Some((_, mut content)) = app.files.open_read(hash).await? else {
        return Err(format!("the file {hash} is missing in the file store").into());
    };
    let mut file = create(path)?;
    while let Some(piece) = content.try_next().await? {
        file.write_all(&piece).map_err(|error| cannot_write(path, &error))?;
    }
    Ok(())
}

async fn write_tables(conn: &mut Conn, account: AccountId, folder: &Path) -> Result<(u64, Documents), StartError> {
    let mut rows = 0;
    for (name, sql) in store::TABLES {
        let path = folder.join(format!("{name}.jsonl"));
        let mut out = BufWriter::new(create(&path)?);
        rows += conn.each(sql, params![account], |row: NamedRow| write_line(&mut out, row)).await?;
        out.flush().map_err(|error| cannot_write(&path, &error))?;
    }
    rows += write_cdrs(conn, account, &folder.join("cdrs.jsonl")).await?;
    Ok((rows, store::files(conn, account).await?))
}

async fn write_cdrs(conn: &mut Conn, account: AccountId, path: &Path) -> Result<u64, StartError> {
    let mut out = BufWriter::new(create(path)?);
    let (mut rows, mut after) = (0, (i64::MIN, Uuid::nil()));
    loop {
        let page = store::cdrs_after(conn, account, after, PAGE_SIZE).await?;
        let Some(last) = page.last() else { break };
        after = key_of(last).ok_or("a CDR lacks its key")?;
        rows += page.len() as u64;
        for row in page {
            write_line(&mut out, row)?;
        }
    }
    out.flush().map_err(|error| cannot_write(path, &error))?;
    Ok(rows)
}

/// The start and the id of a CDR, its first two columns the other way round.
fn key_of(row: &NamedRow) -> Option<(i64, Uuid)> {
    let [(_, id), (_, started_at), ..] = row.0.as_slice() else { return None };
    match (started_at, id) {
        (Value::Int(started_at), Value::Uuid(id)) => Some((*started_at, *id)),
        (Value::Int(started_at), Value::Bytes(id)) => Some((*started_at, Uuid::from_slice(id).ok()?)),
        _ => None,
    }
}

fn write_line(out: &mut BufWriter<File>, row: NamedRow) -> Result<(), DbError> {
    let columns = row.0.into_iter().map(|(name, value)| {
        let value = to_json(&name, value);
        (name, value)
    });
    let line: Map<String, Json> = columns.collect();
    serde_json::to_writer(&mut *out, &line).map_err(DbError::other)?;
    out.write_all(b"\n").map_err(DbError::other)
}

/// The value of a column, as `store` says that columns are named.
fn to_json(name: &str, value: Value<'_>) -> Json {
    match value {
        Value::Null(_) => Json::Null,
        Value::Int(time) if name.ends_with("_at") => json!(Rfc3339(Time::from_millis(time)).to_string()),
        Value::Int(truth) if name.starts_with("is_") => json!(truth != 0),
        Value::Int(number) => json!(number),
        Value::Double(number) => json!(number),
        Value::Bool(truth) => json!(truth),
        Value::Text(text) => json!(text),
        Value::Uuid(id) => json!(id.to_string()),
        Value::Bytes(bytes) => match Uuid::from_slice(&bytes) {
            Ok(id) => json!(id.to_string()),
            Err(_) => json!(HEXLOWER.encode(&bytes)),
        },
    }
}

/// The name without what file systems or terminals take for something else.
fn safe_name(name: &str) -> String {
    let is_safe = |c: char| c.is_alphanumeric() || "-_. ".contains(c);
    name.chars().map(|c| if is_safe(c) { c } else { '_' }).take(MAX_NAME_CHARS).collect()
}

fn create(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.map_err(|error| io::Error::new(error.kind(), cannot_write(path, &error)))
}

fn cannot_write(path: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_written_as_their_names_say() {
        assert_eq!(to_json("created_at", Value::Int(0)), json!("1970-01-01T00:00:00Z"));
        assert_eq!(to_json("is_active", Value::Int(1)), json!(true));
        assert_eq!(to_json("size_bytes", Value::Int(7)), json!(7));
        assert_eq!(to_json("id", Value::Bytes(vec![0; 16].into())), json!("00000000-0000-0000-0000-000000000000"));
        assert_eq!(to_json("hash", Value::Bytes(vec![1, 2].into())), json!("0102"));
    }

    #[test]
    fn a_file_name_leads_nowhere_else() {
        assert_eq!(safe_name("../../etc/passwd\n"), ".._.._etc_passwd_");
    }
}
