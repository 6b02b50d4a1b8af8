//! Values as PostgreSQL has them in its binary format. The server says which type a parameter has.

use bytes::{BufMut, BytesMut};
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::sql::{Columns, ValueRef};

type Unknown = Box<dyn std::error::Error + Sync + Send>;

#[derive(Debug)]
pub(super) struct Param<'a>(pub(super) ValueRef<'a>);

impl ToSql for Param<'_> {
    fn to_sql(&self, of: &Type, out: &mut BytesMut) -> Result<IsNull, Unknown> {
        let wrong = || Err(format!("a parameter of the type {of} has another value").into());
        match self.0 {
            ValueRef::Null => return Ok(IsNull::Yes),
            ValueRef::Integer(number) if *of == Type::INT8 => out.put_i64(number),
            ValueRef::Integer(number) if *of == Type::INT4 => out.put_i32(number.try_into()?),
            ValueRef::Integer(number) if *of == Type::BOOL => out.put_u8(u8::from(number != 0)),
            ValueRef::Text(text) if *of == Type::TEXT || *of == Type::VARCHAR => {
                out.put_slice(text.as_bytes());
            }
            ValueRef::Blob(bytes) if *of == Type::BYTEA => out.put_slice(bytes),
            ValueRef::Integer(_) | ValueRef::Text(_) | ValueRef::Blob(_) => return wrong(),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

struct Raw<'a>(ValueRef<'a>);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(of: &Type, raw: &'a [u8]) -> Result<Self, Unknown> {
        let value = if *of == Type::INT8 {
            ValueRef::Integer(i64::from_be_bytes(raw.try_into()?))
        } else if *of == Type::INT4 {
            ValueRef::Integer(i32::from_be_bytes(raw.try_into()?).into())
        } else if *of == Type::BOOL {
            ValueRef::Integer(i64::from(raw != [0]))
        } else if *of == Type::TEXT || *of == Type::VARCHAR {
            ValueRef::Text(std::str::from_utf8(raw)?)
        } else if *of == Type::BYTEA {
            ValueRef::Blob(raw)
        } else {
            return Err(format!("no table has a column of the type {of}").into());
        };
        Ok(Self(value))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Unknown> {
        Ok(Self(ValueRef::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

impl Columns for Row {
    fn number(&self, name: &str) -> Option<usize> {
        self.columns().iter().position(|it| it.name() == name)
    }

    fn value(&self, number: usize) -> Option<ValueRef<'_>> {
        self.try_get::<_, Raw<'_>>(number).ok().map(|raw| raw.0)
    }
}
