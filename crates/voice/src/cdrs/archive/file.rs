//! CDRs as a Parquet file: the columns of table `cdrs` under their names, ordered by start and id.
//!
//! Amounts are decimals with nine places, so that a sum in another program is exact to the nano. What a column is
//! follows from the schema alone; values go in and out as they do in the database. A row group is written and read as a
//! whole, so it bounds the memory that a file needs.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::{ByteArray, DataType, FixedLenByteArray};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::totals::Totals;
use crate::cdrs::retention::ANONYMISED;
use crate::cdrs::row::MarkedCdr;
use db::{Cell, FromRow, Row, Value};

/// In the order of the columns of a CDR.
const SCHEMA: &str = "message cdr {
    REQUIRED FIXED_LEN_BYTE_ARRAY (16) id (UUID);
    REQUIRED FIXED_LEN_BYTE_ARRAY (16) account_id (UUID);
    REQUIRED FIXED_LEN_BYTE_ARRAY (16) trunk_id (UUID);
    REQUIRED BYTE_ARRAY call_id (STRING);
    REQUIRED BYTE_ARRAY leg (STRING);
    REQUIRED BYTE_ARRAY zone (STRING);
    REQUIRED BYTE_ARRAY calling (STRING);
    REQUIRED BYTE_ARRAY called (STRING);
    OPTIONAL BYTE_ARRAY country (STRING);
    OPTIONAL BYTE_ARRAY destination_name (STRING);
    OPTIONAL BYTE_ARRAY prefix (STRING);
    REQUIRED BYTE_ARRAY currency (STRING);
    REQUIRED INT64 rate_per_minute (DECIMAL(18,9));
    REQUIRED INT64 connect_fee (DECIMAL(18,9));
    REQUIRED INT64 increment_seconds;
    REQUIRED INT64 minimum_seconds;
    OPTIONAL FIXED_LEN_BYTE_ARRAY (16) rate_upstream_id (UUID);
    OPTIONAL FIXED_LEN_BYTE_ARRAY (16) rate_plan_version_id (UUID);
    REQUIRED INT64 started_at (TIMESTAMP(MILLIS,true));
    OPTIONAL INT64 answered_at (TIMESTAMP(MILLIS,true));
    OPTIONAL INT64 ended_at (TIMESTAMP(MILLIS,true));
    REQUIRED INT64 duration_seconds;
    REQUIRED INT64 billed_seconds;
    REQUIRED BYTE_ARRAY status (STRING);
    OPTIONAL FIXED_LEN_BYTE_ARRAY (16) upstream_id (UUID);
    REQUIRED INT64 charge (DECIMAL(18,9));
    REQUIRED INT64 cost (DECIMAL(18,9));
    OPTIONAL FIXED_LEN_BYTE_ARRAY (16) ledger_id (UUID);
    REQUIRED BOOLEAN imported;
    REQUIRED BOOLEAN review;
    REQUIRED INT64 recorded_at (TIMESTAMP(MILLIS,true));
    OPTIONAL BYTE_ARRAY hung_up_by (STRING);
}";

/// The first amount that 18 digits cannot hold: a billion, in nanos.
const AMOUNT_LIMIT: u64 = 1_000_000_000_000_000_000;

/// A file that is being written.
pub struct FileWriter {
    writer: SerializedFileWriter<Vec<u8>>,
    totals: Totals,
    has_numbers: bool,
}

/// A complete file and what is in it.
pub struct WrittenFile {
    pub content: Bytes,
    pub totals: Totals,
    /// Whether a number is not anonymised.
    pub has_numbers: bool,
}

impl FileWriter {
    pub fn new() -> Result<FileWriter> {
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        let writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
        Ok(FileWriter { writer, totals: Totals::default(), has_numbers: false })
    }

    /// The number of rows so far.
    pub fn rows(&self) -> i64 {
        self.totals.calls
    }

    /// Adds CDRs as a row group.
    pub fn add(&mut self, cdrs: &[MarkedCdr]) -> Result<()> {
        for MarkedCdr { cdr, .. } in cdrs {
            let amounts = [cdr.terms.rate_per_minute, cdr.terms.connect_fee, cdr.result.charge, cdr.result.cost];
            if amounts.iter().any(|amount| amount.unsigned_abs() >= AMOUNT_LIMIT) {
                return Err(ParquetError::General(format!("an amount of the CDR {} has too many digits", cdr.id)));
            }
            self.totals.add(cdr);
            self.has_numbers |= cdr.terms.calling != ANONYMISED || cdr.terms.called != ANONYMISED;
        }
        let rows: Vec<Vec<Value<'_>>> = cdrs.iter().map(|cdr| cdr.values().collect()).collect();
        let mut group = self.writer.next_row_group()?;
        let mut at = 0;
        while let Some(mut column) = group.next_column()? {
            let values: Vec<&Value<'_>> = rows.iter().filter_map(|row| row.get(at)).collect();
            match column.untyped() {
                ColumnWriter::BoolColumnWriter(column) => write(column, &values, boolean)?,
                ColumnWriter::Int64ColumnWriter(column) => write(column, &values, integer)?,
                ColumnWriter::ByteArrayColumnWriter(column) => write(column, &values, text)?,
                ColumnWriter::FixedLenByteArrayColumnWriter(column) => write(column, &values, uuid)?,
                _ => return Err(unexpected()),
            }
            column.close()?;
            at += 1;
        }
        group.close()?;
        Ok(())
    }

    pub fn finish(self) -> Result<WrittenFile> {
        let content = Bytes::from(self.writer.into_inner()?);
        Ok(WrittenFile { content, totals: self.totals, has_numbers: self.has_numbers })
    }
}

fn write<T: DataType>(
    column: &mut ColumnWriterImpl<'_, T>,
    values: &[&Value<'_>],
    take: fn(&Value<'_>) -> Option<T::T>,
) -> Result<()> {
    let is_optional = column.get_descriptor().max_def_level() > 0;
    let (mut present, mut levels): (Vec<T::T>, Vec<i16>) = (Vec::new(), Vec::new());
    for value in values {
        match take(value) {
            Some(value) => {
                present.push(value);
                levels.push(1);
            }
            None if is_optional && matches!(value, Value::Null(_)) => levels.push(0),
            None => return Err(unexpected()),
        }
    }
    column.write_batch(&present, is_optional.then_some(levels.as_slice()), None)?;
    Ok(())
}

fn boolean(value: &Value<'_>) -> Option<bool> {
    if let Value::Bool(value) = value { Some(*value) } else { None }
}

fn integer(value: &Value<'_>) -> Option<i64> {
    if let Value::Int(value) = value { Some(*value) } else { None }
}

fn text(value: &Value<'_>) -> Option<ByteArray> {
    if let Value::Text(value) = value { Some(ByteArray::from(value.as_bytes())) } else { None }
}

fn uuid(value: &Value<'_>) -> Option<FixedLenByteArray> {
    if let Value::Uuid(value) = value { Some(value.as_bytes().to_vec().into()) } else { None }
}

fn unexpected() -> ParquetError {
    ParquetError::General("a CDR does not fit the schema of the file".to_owned())
}

/// A complete file, read one row group at a time.
pub struct ArchiveFile(SerializedFileReader<Bytes>);

impl ArchiveFile {
    pub fn open(content: Bytes) -> Result<ArchiveFile> {
        Ok(ArchiveFile(SerializedFileReader::new(content)?))
    }

    pub fn groups(&self) -> usize {
        self.0.num_row_groups()
    }

    /// The CDRs of a row group.
    pub fn read(&self, group: usize) -> Result<Vec<MarkedCdr>> {
        let group = self.0.get_row_group(group)?;
        let count = usize::try_from(group.metadata().num_rows()).map_err(|_| unexpected())?;
        let columns: Vec<Cells> = (0..group.num_columns())
            .map(|at| Cells::read(group.get_column_reader(at)?, count))
            .collect::<Result<_>>()?;
        let cdr = |row: usize| {
            let cells: Option<Vec<Cell<'_>>> = columns.iter().map(|column| column.cell(row)).collect();
            let cells = cells.ok_or_else(unexpected)?;
            MarkedCdr::from_row(&Row::Cells(&cells)).map_err(|error| ParquetError::General(error.to_string()))
        };
        (0..count).map(cdr).collect()
    }
}

/// The values of a column in a row group.
enum Cells {
    Bool(Vec<Option<bool>>),
    Int(Vec<Option<i64>>),
    Text(Vec<Option<ByteArray>>),
    Uuid(Vec<Option<FixedLenByteArray>>),
}

impl Cells {
    fn read(column: ColumnReader, count: usize) -> Result<Cells> {
        Ok(match column {
            ColumnReader::BoolColumnReader(column) => Cells::Bool(read(column, count)?),
            ColumnReader::Int64ColumnReader(column) => Cells::Int(read(column, count)?),
            ColumnReader::ByteArrayColumnReader(column) => Cells::Text(read(column, count)?),
            ColumnReader::FixedLenByteArrayColumnReader(column) => Cells::Uuid(read(column, count)?),
            _ => return Err(unexpected()),
        })
    }

    /// The value of a row, if it has one that can be read.
    fn cell(&self, row: usize) -> Option<Cell<'_>> {
        Some(match self {
            Cells::Bool(values) => (*values.get(row)?).map_or(Cell::Null, Cell::Bool),
            Cells::Int(values) => (*values.get(row)?).map_or(Cell::Null, Cell::Int),
            Cells::Uuid(values) => values.get(row)?.as_ref().map_or(Cell::Null, |value| Cell::Bytes(value.data())),
            Cells::Text(values) => match values.get(row)? {
                Some(value) => Cell::Text(std::str::from_utf8(value.data()).ok()?),
                None => Cell::Null,
            },
        })
    }
}

fn read<T: DataType>(mut column: ColumnReaderImpl<T>, count: usize) -> Result<Vec<Option<T::T>>> {
    let (mut levels, mut values): (Vec<i16>, Vec<T::T>) = (Vec::new(), Vec::new());
    let mut done = 0;
    while done < count {
        let (records, _, _) = column.read_records(count - done, Some(&mut levels), None, &mut values)?;
        if records == 0 {
            return Err(unexpected());
        }
        done += records;
    }
    // A column that is required has no levels.
    if levels.is_empty() {
        return Ok(values.into_iter().map(Some).collect());
    }
    let mut values = values.into_iter();
    Ok(levels.into_iter().map(|level| if level > 0 { values.next() } else { None }).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cdrs::row::{CallResult, CdrRow};
    use crate::cdrs::terms::{CallStatus, CallTerms, HungUpBy, Leg};
    use uuid::Uuid;
    use values::{AccountId, CallId, Currency, Time, TrunkId, UpstreamId};

    fn cdr(number: i64, text: &str, has_more: bool) -> MarkedCdr {
        let id = Uuid::from_u128(number.unsigned_abs().into());
        let terms = CallTerms {
            account_id: AccountId::from(id),
            trunk_id: TrunkId::from(id),
            call_id: text.to_owned(),
            leg: Leg::Termination,
            zone: "ams".to_owned(),
            calling: ANONYMISED.to_owned(),
            called: if has_more { "+31201234567".to_owned() } else { ANONYMISED.to_owned() },
            country: has_more.then(|| "NL".to_owned()),
            destination_name: has_more.then(|| text.to_owned()),
            prefix: None,
            currency: Currency::EUR,
            rate_per_minute: number,
            connect_fee: 0,
            increment_seconds: 1,
            minimum_seconds: 60,
            rate_upstream_id: has_more.then(|| UpstreamId::from(id)),
            rate_plan_version_id: None,
            started_at: Time::from_millis(number),
        };
        let result = CallResult {
            answered_at: has_more.then(|| Time::from_millis(number)),
            ended_at: None,
            duration_seconds: 7,
            billed_seconds: 60,
            status: CallStatus::Answered,
            upstream_id: None,
            charge: number,
            cost: 1,
            ledger_id: has_more.then_some(id),
            imported: has_more,
            review: false,
            recorded_at: Time::from_millis(number),
        };
        let cdr = CdrRow { id: CallId::new(id), terms, result };
        MarkedCdr { cdr, hung_up_by: has_more.then_some(HungUpBy::Team) }
    }

    fn file(groups: &[Vec<MarkedCdr>]) -> WrittenFile {
        let mut writer = FileWriter::new().unwrap();
        groups.iter().for_each(|group| writer.add(group).unwrap());
        writer.finish().unwrap()
    }

    #[test]
    fn the_columns_of_a_file_are_those_of_a_cdr() {
        let schema = parse_message_type(SCHEMA).unwrap();
        let names: Vec<&str> = schema.get_fields().iter().map(|field| field.name()).collect();
        assert_eq!(names, CdrRow::names().chain(["hung_up_by"]).collect::<Vec<_>>());
    }

    #[test]
    fn an_amount_with_more_than_eighteen_digits_is_refused() {
        let limit = i64::try_from(AMOUNT_LIMIT).unwrap();
        FileWriter::new().unwrap().add(&[cdr(limit - 1, "fits", true)]).unwrap();
        FileWriter::new().unwrap().add(&[cdr(limit, "too large", true)]).unwrap_err();
    }

    #[test]
    fn a_file_with_a_number_says_so() {
        assert!(!file(&[vec![cdr(1, "a", false)]]).has_numbers);
        assert!(file(&[vec![cdr(1, "a", false), cdr(2, "b", true)]]).has_numbers);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            groups in prop::collection::vec(
                prop::collection::vec((0i64..1_000_000_000_000_000, "\\PC{0,12}", any::<bool>()), 1..20), 1..4)
        ) {
            let groups: Vec<Vec<MarkedCdr>> = groups
                .into_iter()
                .map(|group| group.iter().map(|(number, text, has_more)| cdr(*number, text, *has_more)).collect())
                .collect();
            let written = file(&groups);
            let charges: i64 = groups.iter().flatten().map(|row| row.cdr.result.charge).sum();
            let calls = groups.iter().map(Vec::len).sum::<usize>() as i64;
            prop_assert_eq!((written.totals.calls, written.totals.charge, written.totals.cost), (calls, charges, calls));
            let read = ArchiveFile::open(written.content).unwrap();
            prop_assert_eq!(read.groups(), groups.len());
            for (at, group) in groups.iter().enumerate() {
                prop_assert_eq!(format!("{:?}", read.read(at).unwrap()), format!("{group:?}"));
            }
        }
    }
}
