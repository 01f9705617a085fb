//! Checks a workbook before it is read: it is complete, and does not unpack to more than it may.
//!
//! An XLSX file is a ZIP archive of XML texts. Sizes that the archive declares are checked first; then every part is
//! unpacked once without keeping it, since an archive can lie about its sizes.

use std::io::{self, Cursor, Read};

use zip::ZipArchive;
use zip::read::ZipFile;

use super::super::OpenError;

/// All parts together.
const MAX_UNPACKED_BYTES: u64 = 1024 * 1024 * 1024;
/// Any part that is kept in memory: all but the rows of sheets.
const MAX_KEPT_BYTES: u64 = 128 * 1024 * 1024;
const MAX_PARTS: usize = 2000;
/// How many times larger a part may become. Rows that repeat themselves reach about 50.
const MAX_RATIO: u64 = 200;
/// Parts up to this size may be packed any tighter.
const SMALL_PART_BYTES: u64 = 1024 * 1024;

const WORKBOOK: &str = "xl/workbook.xml";
/// Rows of sheets, which are streamed.
const SHEETS: &str = "xl/worksheets/";

/// The Unix day of serial number 0, if the workbook counts from 1900 or from 1904.
const FIRST_DAY_1900: i64 = -25_569;
const FIRST_DAY_1904: i64 = -24_107;

/// Checks the archive and returns the first day of its calendar.
pub fn check(content: &[u8]) -> Result<i64, OpenError> {
    let mut archive = ZipArchive::new(Cursor::new(content)).map_err(|_| damaged())?;
    if archive.len() > MAX_PARTS {
        return Err(refused(format!("the workbook has more than {MAX_PARTS} parts")));
    }
    let mut declared = 0u64;
    for index in 0..archive.len() {
        let part = archive.by_index_raw(index).map_err(|_| damaged())?;
        declared = declared.saturating_add(part.size());
        check_part(&part)?;
    }
    if declared > MAX_UNPACKED_BYTES {
        return Err(refused(format!("the workbook unpacks to more than {} MiB", MAX_UNPACKED_BYTES / 1024 / 1024)));
    }
    let mut first_day = None;
    for index in 0..archive.len() {
        let mut part = archive.by_index(index).map_err(|_| damaged())?;
        if part.name() == WORKBOOK {
            let mut text = Vec::new();
            part.take(MAX_KEPT_BYTES).read_to_end(&mut text).map_err(|_| damaged())?;
            first_day = Some(if counts_from_1904(&text) { FIRST_DAY_1904 } else { FIRST_DAY_1900 });
        } else {
            let size = part.size();
            let unpacked = io::copy(&mut part.by_ref().take(size + 1), &mut io::sink()).map_err(|_| damaged())?;
            if unpacked != size {
                return Err(refused("the workbook unpacks to another size than it declares".to_owned()));
            }
        }
    }
    first_day.ok_or_else(|| refused("the file is a ZIP archive, but not an XLSX workbook".to_owned()))
}

fn check_part<R: Read>(part: &ZipFile<'_, R>) -> Result<(), OpenError> {
    let size = part.size();
    if size > MAX_KEPT_BYTES && !part.name().starts_with(SHEETS) {
        return Err(refused(format!("{} unpacks to more than {} MiB", name(part), MAX_KEPT_BYTES / 1024 / 1024)));
    }
    if size > SMALL_PART_BYTES && size / MAX_RATIO > part.compressed_size() {
        return Err(refused(format!("{} is compressed more than {MAX_RATIO} times", name(part))));
    }
    Ok(())
}

/// The name of a part as it may appear in a message.
fn name<R: Read>(part: &ZipFile<'_, R>) -> String {
    part.name().chars().filter(|letter| !letter.is_control()).take(100).collect()
}

fn counts_from_1904(workbook: &[u8]) -> bool {
    let text = String::from_utf8_lossy(workbook);
    ["date1904=\"1\"", "date1904=\"true\"", "date1904='1'", "date1904='true'"].iter().any(|set| text.contains(set))
}

fn refused(reason: String) -> OpenError {
    OpenError::Refused(reason)
}

/// What a file is called that ends too early or was changed on its way.
pub fn damaged() -> OpenError {
    refused("the workbook is truncated or damaged".to_owned())
}
