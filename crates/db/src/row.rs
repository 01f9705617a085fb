//! Result rows, read by position into tuples and structs.

use rusqlite::types::ValueRef;
use tokio_postgres::types::{FromSql, Type};
use values::{Cell, Column, Kind, Value};

use super::error::{DbError, Result};

/// One result row of either engine, or one that was kept in a file.
pub enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r tokio_postgres::Row),
    Cells(&'r [Cell<'r>]),
}

impl Row<'_> {
    fn cell(&self, index: usize) -> Result<Cell<'_>> {
        match self {
            Row::Sqlite(row) => sqlite_cell(row, index),
            Row::Postgres(row) => postgres_cell(row, index),
            Row::Cells(cells) => cells.get(index).copied().ok_or_else(|| missing(index)),
        }
    }

    pub fn get<T: Column>(&self, index: usize) -> Result<T> {
        T::from_cell(self.cell(index)?).map_err(|reason| DbError::Column { name: self.column_name(index), reason })
    }

    /// A text as the engine has it, without a copy; none if it is NULL.
    pub fn text(&self, index: usize) -> Result<Option<&str>> {
        match self.cell(index)? {
            Cell::Text(text) => Ok(Some(text)),
            Cell::Null => Ok(None),
            _ => Err(DbError::Column { name: self.column_name(index), reason: "is not a text".into() }),
        }
    }

    fn width(&self) -> usize {
        match self {
            Row::Sqlite(row) => row.as_ref().column_count(),
            Row::Postgres(row) => row.len(),
            Row::Cells(cells) => cells.len(),
        }
    }

    fn column_name(&self, index: usize) -> String {
        let name = match self {
            Row::Sqlite(row) => row.as_ref().column_name(index).ok(),
            Row::Postgres(row) => row.columns().get(index).map(|column| column.name()),
            Row::Cells(_) => None,
        };
        name.map_or_else(|| index.to_string(), str::to_owned)
    }
}

fn sqlite_cell<'r>(row: &'r rusqlite::Row<'_>, index: usize) -> Result<Cell<'r>> {
    Ok(match row.get_ref(index)? {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(value) => Cell::Int(value),
        ValueRef::Real(value) => Cell::Double(value),
        ValueRef::Text(value) => Cell::Text(std::str::from_utf8(value).map_err(DbError::other)?),
        ValueRef::Blob(value) => Cell::Bytes(value),
    })
}

fn postgres_cell(row: &tokio_postgres::Row, index: usize) -> Result<Cell<'_>> {
    fn read<'r, T: FromSql<'r>>(
        row: &'r tokio_postgres::Row,
        index: usize,
        cell: fn(T) -> Cell<'r>,
    ) -> Result<Cell<'r>> {
        Ok(row.try_get::<_, Option<T>>(index)?.map_or(Cell::Null, cell))
    }

    let Some(column) = row.columns().get(index) else { return Err(missing(index)) };
    match *column.type_() {
        Type::INT8 => read(row, index, Cell::Int),
        Type::FLOAT8 => read(row, index, Cell::Double),
        Type::BOOL => read(row, index, Cell::Bool),
        Type::TEXT => read(row, index, Cell::Text),
        Type::BYTEA => read(row, index, Cell::Bytes),
        Type::UUID => read(row, index, Cell::Uuid),
        ref other => Err(DbError::Column {
            name: column.name().to_owned(),
            reason: format!("has type {other}; cast it to a supported type").into(),
        }),
    }
}

fn missing(index: usize) -> DbError {
    DbError::Column { name: index.to_string(), reason: "is not in the select list".into() }
}

/// A type that a result row is read into.
pub trait FromRow: Sized {
    fn from_row(row: &Row<'_>) -> Result<Self>;
}

/// A row with the names of its columns, for what is read only to be written elsewhere. On SQLite truth values are
/// integers and UUIDs are bytes.
pub struct NamedRow(pub Vec<(String, Value<'static>)>);

impl FromRow for NamedRow {
    fn from_row(row: &Row<'_>) -> Result<NamedRow> {
        let column = |index: usize| -> Result<(String, Value<'static>)> {
            let value = match row.cell(index)? {
                Cell::Null => Value::Null(Kind::Text),
                Cell::Int(number) => Value::Int(number),
                Cell::Double(number) => Value::Double(number),
                Cell::Bool(truth) => Value::Bool(truth),
                Cell::Text(text) => Value::Text(text.to_owned().into()),
                Cell::Bytes(bytes) => Value::Bytes(bytes.to_vec().into()),
                Cell::Uuid(id) => Value::Uuid(id),
            };
            Ok((row.column_name(index), value))
        };
        Ok(NamedRow((0..row.width()).map(column).collect::<Result<_>>()?))
    }
}

/// A row of integers only.
impl FromRow for Vec<i64> {
    fn from_row(row: &Row<'_>) -> Result<Vec<i64>> {
        (0..row.width()).map(|index| row.get(index)).collect()
    }
}

macro_rules! tuple {
    ($($name:ident $index:tt),+) => {
        impl<$($name: Column),+> FromRow for ($($name,)+) {
            fn from_row(row: &Row<'_>) -> Result<Self> {
                Ok(($(row.get::<$name>($index)?,)+))
            }
        }
    };
}

tuple!(A 0);
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5);

/// Declares a struct that is read by position. `COLS` is its select list, for use in [`sql!`](crate::sql).
#[macro_export]
macro_rules! row {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $(#[$first_meta:meta])* $first_vis:vis $first:ident: $first_type:ty
        $(, $(#[$field_meta:meta])* $field_vis:vis $field:ident: $type:ty)* $(,)?
    }) => {
        $(#[$meta])*
        $vis struct $name {
            $(#[$first_meta])* $first_vis $first: $first_type,
            $($(#[$field_meta])* $field_vis $field: $type,)*
        }

        impl $name {
            #[allow(dead_code)]
            pub const COLS: &'static str = concat!(stringify!($first) $(, ", ", stringify!($field))*);
            /// The number of its columns.
            #[allow(dead_code)]
            pub const WIDTH: usize = [stringify!($first) $(, stringify!($field))*].len();

            /// Reads the columns from `first` on, for a row that holds several of these.
            pub fn from_column(row: &$crate::Row<'_>, first: usize) -> $crate::Result<Self> {
                let mut index = first..;
                let mut next = || index.next().unwrap_or(usize::MAX);
                Ok(Self { $first: row.get(next())?, $($field: row.get(next())?,)* })
            }
        }

        impl $crate::FromRow for $name {
            fn from_row(row: &$crate::Row<'_>) -> $crate::Result<Self> {
                Self::from_column(row, 0)
            }
        }
    };
}

/// Declares a [`row!`](crate::row) that is also written: `NAMES` are its columns and `values` what goes into them, in the
/// same order. With `in table`, [`Conn::insert`](crate::Conn::insert) and [`Conn::update`](crate::Conn::update) take it
/// as it is; the first column is its key.
#[macro_export]
macro_rules! table_row {
    ($(#[$meta:meta])* $vis:vis struct $name:ident in $table:ident { $($fields:tt)+ }) => {
        $crate::table_row! { $(#[$meta])* $vis struct $name { $($fields)+ } }

        impl $crate::TableRow for $name {
            const INSERT: &'static str = {
                const TEXT: &$crate::statements::Text =
                    &$crate::statements::insert_text(stringify!($table), &$name::NAMES, "");
                TEXT.as_str()
            };
            const UPDATE: &'static str = {
                const TEXT: &$crate::statements::Text =
                    &$crate::statements::update_text(stringify!($table), &$name::NAMES);
                TEXT.as_str()
            };
            type Values<'a> = [$crate::Value<'a>; $name::WIDTH];

            fn values(&self) -> Self::Values<'_> {
                $name::values(self)
            }
        }
    };
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $type:ty),+ $(,)?
    }) => {
        $crate::row! {
            $(#[$meta])*
            $vis struct $name { $($(#[$field_meta])* $field_vis $field: $type),+ }
        }

        impl $name {
            #[allow(dead_code)]
            pub const NAMES: [&'static str; Self::WIDTH] = [$(stringify!($field)),+];

            #[allow(dead_code)]
            pub fn values(&self) -> [$crate::Value<'_>; Self::WIDTH] {
                $crate::row_values![$(self.$field),+]
            }
        }
    };
}

/// A row that is inserted and updated whole; made by [`table_row!`](crate::table_row).
pub trait TableRow {
    const INSERT: &'static str;
    /// Sets every column but the first, which is the key.
    const UPDATE: &'static str;
    type Values<'a>: AsRef<[Value<'a>]> + Send
    where
        Self: 'a;

    fn values(&self) -> Self::Values<'_>;
}
