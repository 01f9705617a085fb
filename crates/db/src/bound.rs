//! Encodes parameters for both engines.

use rusqlite::types::{ToSqlOutput, ValueRef};
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, WrongType};
use values::{Kind, Value};

/// A parameter for the drivers of both engines.
#[derive(Debug)]
pub(crate) struct Bound<'a>(pub &'a Value<'a>);

/// The PostgreSQL type that a parameter is sent as.
pub(crate) fn postgres_type(value: &Value<'_>) -> Type {
    match value.kind() {
        Kind::Int => Type::INT8,
        Kind::Double => Type::FLOAT8,
        Kind::Bool => Type::BOOL,
        Kind::Text => Type::TEXT,
        Kind::Bytes => Type::BYTEA,
        Kind::Uuid => Type::UUID,
    }
}

impl rusqlite::ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null(_) => ValueRef::Null,
            Value::Int(value) => ValueRef::Integer(*value),
            Value::Double(value) => ValueRef::Real(*value),
            Value::Bool(value) => ValueRef::Integer(i64::from(*value)),
            Value::Text(value) => ValueRef::Text(value.as_bytes()),
            Value::Bytes(value) => ValueRef::Blob(value),
            Value::Uuid(value) => ValueRef::Blob(value.as_bytes()),
        }))
    }
}

type Encoded = Result<IsNull, Box<dyn std::error::Error + Sync + Send>>;

impl ToSql for Bound<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Encoded {
        match self.0 {
            Value::Null(_) => Ok(IsNull::Yes),
            Value::Int(value) => value.to_sql(ty, out),
            Value::Double(value) => value.to_sql(ty, out),
            Value::Bool(value) => value.to_sql(ty, out),
            Value::Text(value) => value.as_ref().to_sql(ty, out),
            Value::Bytes(value) => value.as_ref().to_sql(ty, out),
            Value::Uuid(value) => value.to_sql(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    /// The type depends on the value, so it is checked here and not in `accepts`.
    fn to_sql_checked(&self, ty: &Type, out: &mut BytesMut) -> Encoded {
        if *ty != postgres_type(self.0) {
            return Err(Box::new(WrongType::new::<Self>(ty.clone())));
        }
        self.to_sql(ty, out)
    }
}
