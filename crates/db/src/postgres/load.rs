//! Inserts rows of another database.

use std::collections::BTreeMap;
use std::pin::pin;

use tokio::time::timeout;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::Type;
use values::{Kind, Value};

use super::Session;
use crate::bound::{Bound, postgres_type};
use crate::copy::{Conflict, TableRows, typed};
use crate::error::{DbError, Result};

/// Rows of one COPY, so that each ends well before the deadline.
const ROWS_PER_COPY: usize = 1000;

const COLUMNS: &str = "SELECT CAST(column_name AS TEXT), CAST(data_type AS TEXT) FROM information_schema.columns
                       WHERE table_schema = current_schema() AND CAST(table_name AS TEXT) = $1";

impl Session {
    pub(crate) async fn load(&mut self, rows: &TableRows, conflict: Conflict) -> Result<u64> {
        let kinds = self.kinds(rows).await?;
        let mut count = 0;
        if conflict == Conflict::Fail {
            for part in rows.rows.chunks(ROWS_PER_COPY) {
                let outcome = timeout(self.deadline, self.copy_part(rows, &kinds, part)).await;
                count += self.answered(outcome)?;
            }
            return Ok(count);
        }
        let text = rows.insert_text(conflict);
        for row in &rows.rows {
            count += self.run(&text, &cells(row, &kinds)?, |_| Ok(())).await?;
        }
        Ok(count)
    }

    /// What the columns take, in the order of the rows.
    async fn kinds(&mut self, rows: &TableRows) -> Result<Vec<Kind>> {
        let client = self.begin().await?;
        let mut declared = BTreeMap::new();
        for row in client.query(COLUMNS, &[&rows.table]).await? {
            declared.insert(row.try_get::<_, String>(0)?, kind(row.try_get(1)?));
        }
        let mut kinds = Vec::with_capacity(rows.columns.len());
        for column in &rows.columns {
            let kind = declared.get(column).copied().flatten().ok_or_else(|| DbError::Column {
                name: format!("{}.{column}", rows.table),
                reason: "is not there, or has a type that is not supported".into(),
            })?;
            kinds.push(kind);
        }
        Ok(kinds)
    }

    async fn copy_part(&mut self, rows: &TableRows, kinds: &[Kind], part: &[Vec<Value<'static>>]) -> Result<u64> {
        let types: Vec<Type> = kinds.iter().map(|kind| postgres_type(&Value::Null(*kind))).collect();
        let client = self.begin().await?;
        let copy = format!("COPY {} ({}) FROM STDIN BINARY", rows.table, rows.columns.join(", "));
        let sink = client.copy_in(&copy).await?;
        let mut writer = pin!(BinaryCopyInWriter::new(sink, &types));
        for row in part {
            let cells = cells(row, kinds)?;
            let bound: Vec<Bound<'_>> = cells.iter().map(Bound).collect();
            writer.as_mut().write_raw(&bound).await?;
        }
        Ok(writer.finish().await?)
    }
}

fn cells<'v>(row: &'v [Value<'static>], kinds: &[Kind]) -> Result<Vec<Value<'v>>> {
    row.iter().zip(kinds).map(|(value, kind)| typed(value, *kind)).collect()
}

fn kind(data_type: &str) -> Option<Kind> {
    Some(match data_type {
        "bigint" => Kind::Int,
        "double precision" => Kind::Double,
        "boolean" => Kind::Bool,
        "text" => Kind::Text,
        "bytea" => Kind::Bytes,
        "uuid" => Kind::Uuid,
        _ => return None,
    })
}
