//! Statement parameters and result columns: six storage types, the same on SQLite and PostgreSQL.
//!
//! A parameter is passed as a [`Value`], a column is read from a [`Cell`]. A type that implements `Stored` can be both.

use std::borrow::Cow;

use uuid::Uuid;

use super::Stored;

/// The storage type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Int,
    Double,
    Bool,
    Text,
    Bytes,
    Uuid,
}

/// A bound parameter. A NULL keeps its kind, so that PostgreSQL never has to guess it.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    Null(Kind),
    Int(i64),
    Double(f64),
    Bool(bool),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
    Uuid(Uuid),
}

impl Value<'_> {
    pub fn to_owned(&self) -> Value<'static> {
        match self {
            Value::Null(kind) => Value::Null(*kind),
            Value::Int(value) => Value::Int(*value),
            Value::Double(value) => Value::Double(*value),
            Value::Bool(value) => Value::Bool(*value),
            Value::Text(value) => Value::Text(value.clone().into_owned().into()),
            Value::Bytes(value) => Value::Bytes(value.clone().into_owned().into()),
            Value::Uuid(value) => Value::Uuid(*value),
        }
    }

    pub fn kind(&self) -> Kind {
        match self {
            Value::Null(kind) => *kind,
            Value::Int(_) => Kind::Int,
            Value::Double(_) => Kind::Double,
            Value::Bool(_) => Kind::Bool,
            Value::Text(_) => Kind::Text,
            Value::Bytes(_) => Kind::Bytes,
            Value::Uuid(_) => Kind::Uuid,
        }
    }
}

/// A type that [`params!`](crate::params) accepts.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter",
    note = "parameters are borrowed by `params!`: write `*x` where `x` is a reference"
)]
pub trait Param {
    const KIND: Kind;

    fn to_value(&self) -> Value<'_>;
}

/// One field of a result row as the engine returns it. SQLite stores booleans as integers and UUIDs as bytes.
#[derive(Clone, Copy, Debug)]
pub enum Cell<'r> {
    Null,
    Int(i64),
    Double(f64),
    Bool(bool),
    Text(&'r str),
    Bytes(&'r [u8]),
    Uuid(Uuid),
}

/// A type that is stored in one column.
pub trait Column: Param + Sized {
    /// The value of the cell, or why it cannot be read as this type.
    fn from_cell(cell: Cell<'_>) -> Result<Self, Cow<'static, str>>;
}

macro_rules! column {
    ($type:ty, $kind:ident, |$this:ident| $value:expr, { $($cell:pat => $read:expr),+ }) => {
        impl Param for $type {
            const KIND: Kind = Kind::$kind;

            fn to_value(&self) -> Value<'_> {
                let $this = self;
                Value::$kind($value)
            }
        }

        impl Column for $type {
            fn from_cell(cell: Cell<'_>) -> Result<Self, Cow<'static, str>> {
                match cell {
                    $($cell => $read,)+
                    Cell::Null => Err("is NULL".into()),
                    _ => Err(concat!("is not of type ", stringify!($type)).into()),
                }
            }
        }
    };
}

column!(i64, Int, |this| *this, { Cell::Int(value) => Ok(value) });
column!(f64, Double, |this| *this, { Cell::Double(value) => Ok(value) });
column!(bool, Bool, |this| *this, { Cell::Bool(value) => Ok(value), Cell::Int(value @ 0..=1) => Ok(value == 1) });
column!(String, Text, |this| this.into(), { Cell::Text(value) => Ok(value.to_owned()) });
column!(Vec<u8>, Bytes, |this| this.into(), { Cell::Bytes(value) => Ok(value.to_vec()) });
column!(Uuid, Uuid, |this| *this, {
    Cell::Uuid(value) => Ok(value),
    Cell::Bytes(value) => Uuid::from_slice(value).map_err(|_| "is not a UUID".into())
});

macro_rules! borrowed {
    ($($type:ty, $kind:ident);+) => { $(
        impl Param for $type {
            const KIND: Kind = Kind::$kind;

            fn to_value(&self) -> Value<'_> {
                Value::$kind(Cow::Borrowed(self.as_ref()))
            }
        }
    )+ };
}

borrowed!(str, Text; &str, Text; &String, Text; [u8], Bytes; &[u8], Bytes; &Vec<u8>, Bytes);

impl<T: Param> Param for Option<T> {
    const KIND: Kind = T::KIND;

    fn to_value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null(T::KIND), T::to_value)
    }
}

impl<T: Column> Column for Option<T> {
    fn from_cell(cell: Cell<'_>) -> Result<Self, Cow<'static, str>> {
        match cell {
            Cell::Null => Ok(None),
            cell => T::from_cell(cell).map(Some),
        }
    }
}

/// The types that `Stored::Raw` may be.
pub trait Raw: Column {
    fn into_value(self) -> Value<'static>;
}

macro_rules! raw {
    ($($type:ty, |$this:ident| $value:expr);+ $(;)?) => { $(
        impl Raw for $type {
            fn into_value(self) -> Value<'static> {
                let $this = self;
                $value
            }
        }
    )+ };
}

raw! {
    i64, |this| Value::Int(this);
    bool, |this| Value::Bool(this);
    Uuid, |this| Value::Uuid(this);
    String, |this| Value::Text(this.into());
    Vec<u8>, |this| Value::Bytes(this.into());
}

impl<T: Stored<Raw: Raw>> Param for T {
    const KIND: Kind = T::Raw::KIND;

    fn to_value(&self) -> Value<'_> {
        self.to_raw().into_value()
    }
}

impl<T: Stored<Raw: Raw>> Column for T {
    fn from_cell(cell: Cell<'_>) -> Result<Self, Cow<'static, str>> {
        T::from_raw(T::Raw::from_cell(cell)?).map_err(|invalid| invalid.0)
    }
}

/// The parameters of a statement, `$1` first. They are borrowed, never moved.
#[macro_export]
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        &[$($crate::Param::to_value(&$value)),*] as &[$crate::Value<'_>]
    };
}

/// The values of one row of `Conn::insert_many`, borrowed from it.
#[macro_export]
macro_rules! row_values {
    ($($value:expr),+ $(,)?) => {
        [$($crate::Param::to_value(&$value)),+]
    };
}
