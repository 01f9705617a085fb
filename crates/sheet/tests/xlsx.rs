//! Reading workbooks.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Cursor, Read, Write};

use rust_xlsxwriter::{ExcelDateTime, Format, Formula, Workbook};
use sheet::{Book, Column, Faults, Kind, Layout, OpenError, Row, Table};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

#[derive(Clone, Copy, PartialEq, Debug)]
enum Field {
    Name,
    Price,
}

impl Column for Field {
    const ALL: &'static [Field] = &[Field::Name, Field::Price];

    fn name(self) -> &'static str {
        match self {
            Field::Name => "name",
            Field::Price => "price",
        }
    }

    fn is_required(self) -> bool {
        true
    }
}

/// A workbook with a title, a header in the third row and what `fill` adds below.
fn workbook(fill: impl FnOnce(&mut rust_xlsxwriter::Worksheet)) -> Vec<u8> {
    let mut book = Workbook::new();
    let sheet = book.add_worksheet().set_name("Rates").unwrap();
    sheet.merge_range(0, 0, 0, 3, "Rates of Carrier One", &Format::new()).unwrap();
    sheet.write_row(2, 0, ["Name", "Price"]).unwrap();
    fill(sheet);
    book.save_to_buffer().unwrap()
}

/// Names and prices of the rows, with the kinds of the prices.
fn read(content: &[u8]) -> (Vec<(u64, String, String, Kind)>, Faults) {
    let mut faults = Faults::default();
    let mut rows = Vec::new();
    let add = |row: &Row<'_, Field>, faults: &mut Faults| {
        let (name, price) = (row.cell(Field::Name, faults), row.cell_or_date(Field::Price, faults));
        if let (Some(name), Some(price)) = (name, price) {
            rows.push((row.line(), name.to_owned(), price.to_owned(), row.kind(Field::Price)));
        }
    };
    let layout = Layout::mapped(&[(Field::Name, 0), (Field::Price, 1)]);
    let table = (&Table::Sheet("Rates".to_owned()), 3);
    let is_complete = Book::open(content).unwrap().read(table, &layout, 1000, &mut faults, add, |_| {}).unwrap();
    assert!(is_complete || faults.count > 0);
    (rows, faults)
}

fn refusal(content: &[u8]) -> String {
    match Book::open(content) {
        Ok(_) => "none".to_owned(),
        Err(OpenError::Refused(reason)) => reason,
        Err(OpenError::Io(error)) => panic!("{error}"),
    }
}

/// The same archive with parts changed.
fn repacked(content: &[u8], change: impl Fn(&str, Vec<u8>) -> Vec<u8>) -> Vec<u8> {
    let mut archive = ZipArchive::new(Cursor::new(content)).unwrap();
    let mut out = ZipWriter::new(Cursor::new(Vec::new()));
    for index in 0..archive.len() {
        let mut part = archive.by_index(index).unwrap();
        let (name, mut text) = (part.name().to_owned(), Vec::new());
        part.read_to_end(&mut text).unwrap();
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        out.start_file(&name, options).unwrap();
        out.write_all(&change(&name, text)).unwrap();
    }
    out.finish().unwrap().into_inner()
}

#[test]
fn numbers_keep_the_digits_that_were_typed() {
    let prices = [0.012, 0.1 + 0.2, 1e-7, 31_612_345_678.0, 0.0121, 5.0];
    let content = workbook(|sheet| {
        for (row, price) in (3..).zip(prices) {
            sheet.write(row, 0, "Netherlands").unwrap();
            sheet.write(row, 1, price).unwrap();
        }
    });
    let (rows, faults) = read(&content);
    assert_eq!(faults.count, 0);
    let texts: Vec<&str> = rows.iter().map(|(_, _, price, _)| price.as_str()).collect();
    assert_eq!(texts, ["0.012", "0.30000000000000004", "0.0000001", "31612345678", "0.0121", "5"]);
    assert!(rows.iter().all(|(_, _, _, kind)| *kind == Kind::Number));
    assert_eq!(rows[0].0, 4);
}

#[test]
fn rows_may_be_short_or_blank_and_what_stands_above_the_header_is_ignored() {
    let content = workbook(|sheet| {
        sheet.write(4, 0, "Belgium").unwrap();
        sheet.write(7, 3, "a note beside the table").unwrap();
        sheet.write(9, 1, "0.5").unwrap();
    });
    let (rows, faults) = read(&content);
    assert_eq!(faults.count, 0);
    assert_eq!(rows, [(5, "Belgium".into(), String::new(), Kind::Text), (10, String::new(), "0.5".into(), Kind::Text)]);
}

#[test]
fn a_formula_is_a_fault_that_names_its_cell() {
    let content = workbook(|sheet| {
        sheet.write(3, 0, "Netherlands").unwrap();
        sheet.write_formula(3, 1, Formula::new("=1/80").set_result("0.0125")).unwrap();
        sheet.write_formula(3, 2, "=1+1").unwrap();
    });
    let (rows, faults) = read(&content);
    assert!(rows.is_empty());
    assert_eq!(faults.count, 1);
    assert_eq!(faults.first[0].to_string(), "cell B4: price must be a value, not a formula");
}

#[test]
fn dates_are_counted_from_1900_or_from_1904() {
    let content = workbook(|sheet| {
        let date = ExcelDateTime::parse_from_str("2026-01-31 12:00").unwrap();
        sheet.write(3, 0, "Netherlands").unwrap();
        sheet.write_datetime_with_format(3, 1, &date, &Format::new().set_num_format("dd/mm/yyyy hh:mm")).unwrap();
    });
    assert_eq!(read(&content).0[0].3, Kind::Date);
    let from_1904 = repacked(&content, |name, text| match name {
        "xl/workbook.xml" => {
            String::from_utf8(text).unwrap().replace("<workbookPr", "<workbookPr date1904=\"1\"").into()
        }
        _ => text,
    });
    const NOON: i64 = 1_769_860_800_000;
    const FOUR_YEARS: i64 = 1462 * 86_400_000;
    for (content, expected) in [(&content, NOON), (&from_1904, NOON + FOUR_YEARS)] {
        let (mut moment, mut faults) = (None, Faults::default());
        let add = |row: &Row<'_, Field>, faults: &mut Faults| {
            moment = row.serial_millis(row.cell_or_date(Field::Price, faults).unwrap());
        };
        let layout = Layout::mapped(&[(Field::Price, 1)]);
        let table = (&Table::Sheet("Rates".to_owned()), 3);
        Book::open(content.as_slice()).unwrap().read(table, &layout, 9, &mut faults, add, |_| {}).unwrap();
        assert_eq!(moment, Some(expected));
    }
}

#[test]
fn a_truncated_workbook_is_refused_wherever_it_ends() {
    let content = workbook(|sheet| {
        for row in 3..500 {
            sheet.write(row, 0, format!("Destination {row}")).unwrap();
        }
    });
    for part in [4, 100, content.len() / 2, content.len() - 1] {
        assert_eq!(refusal(&content[..part]), "the workbook is truncated or damaged", "{part}");
    }
    let mut damaged = content.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 40].fill(0xAA);
    assert_eq!(refusal(&damaged), "the workbook is truncated or damaged");
}

#[test]
fn a_password_an_old_format_and_another_archive_are_refused_by_name() {
    let old = [0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1];
    assert_eq!(refusal(&old), "the file is an XLS workbook; save it as XLSX or CSV");
    let name: Vec<u8> = "EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(refusal(&[&old[..], &[0; 500], &name].concat()), "the workbook is protected with a password");
    let mut other = ZipWriter::new(Cursor::new(Vec::new()));
    other.start_file("readme.txt", SimpleFileOptions::default()).unwrap();
    let other = other.finish().unwrap().into_inner();
    assert_eq!(refusal(&other), "the file is a ZIP archive, but not an XLSX workbook");
}

#[test]
fn a_zip_bomb_is_refused_before_it_is_read() {
    let content = workbook(|_| {});
    let bomb = repacked(&content, |name, text| match name {
        "xl/worksheets/sheet1.xml" => [text, vec![b' '; 16 * 1024 * 1024]].concat(),
        _ => text,
    });
    assert_eq!(refusal(&bomb), "xl/worksheets/sheet1.xml is compressed more than 200 times");
    // One that claims to be small.
    let mut lying = bomb;
    let name = b"xl/worksheets/sheet1.xml";
    let entries = lying.windows(4).enumerate().filter(|(_, window)| *window == b"PK\x01\x02").map(|(at, _)| at);
    let entry = entries.into_iter().find(|at| lying[at + 46..].starts_with(name)).unwrap();
    lying[entry + 24..entry + 28].copy_from_slice(&1000u32.to_le_bytes());
    let refused = refusal(&lying);
    assert!(refused.contains("another size than it declares") || refused.contains("damaged"), "{refused}");
}
