use std::cell::Cell;
use std::io::{self, Read};

use proptest::prelude::*;
use rating::{Country, DeckCsv, DeckCsvError, DeckCsvOptions, DeckCsvWriter, Entry, Fault, Faults, Offer, Rate};

use crate::samples::{destination, prefix, rows};

const NOW: i64 = 1_800_000_000_000;

fn read(text: impl AsRef<[u8]>) -> Result<Vec<Entry>, DeckCsvError> {
    let options = DeckCsvOptions { now: NOW, is_country: &|country| country.as_str() != "XX" };
    DeckCsv::read(text.as_ref(), &options, |_| {}).map(|file| file.entries)
}

fn faults(text: impl AsRef<[u8]>) -> Faults {
    match read(text) {
        Err(DeckCsvError::Faults(faults)) => faults,
        other => panic!("no faults: {other:?}"),
    }
}

fn fault(text: impl AsRef<[u8]>) -> String {
    let faults = faults(text);
    assert_eq!(faults.count, 1, "{faults:?}");
    faults.first[0].to_string()
}

/// A valid file with one cell of its first row changed.
fn with(column: &str, cell: &str) -> String {
    let names = [
        "prefix",
        "destination_name",
        "country",
        "rate_per_minute",
        "connect_fee",
        "billing_increment_seconds",
        "minimum_seconds",
        "effective_at",
    ];
    let cells = ["31", "Netherlands", "NL", "0.01", "", "", "", ""];
    let row: Vec<_> = names.iter().zip(cells).map(|(name, good)| if *name == column { cell } else { good }).collect();
    format!("{}\n{}\n", names.join(","), row.join(","))
}

fn row(prefix_: &str, name: &str, rate: Rate, effective_at: i64) -> Entry {
    let offer = Offer { rate, destination: destination(name, "NL") };
    Entry::new(prefix(prefix_), effective_at, Some(offer))
}

fn rate(nanos: i64, increment: u16, minimum: u16) -> Rate {
    Rate::new(nanos, 0, increment, minimum).unwrap()
}

#[test]
fn rows_are_sorted_by_prefix() {
    let file = "prefix,destination_name,country,rate_per_minute,\
        billing_increment_seconds,minimum_seconds,effective_at\n\
        3120,\"Netherlands, Amsterdam\",NL,0.0125,6,30,2030-01-31\n\
        31,Netherlands,nl,0.01,,,2030-01-31T12:00:00+02:00\n";
    assert_eq!(
        read(file).unwrap(),
        [
            row("31", "Netherlands", rate(10_000_000, 1, 1), 1_896_084_000_000),
            row("3120", "Netherlands, Amsterdam", rate(12_500_000, 6, 30), 1_896_048_000_000),
        ]
    );
}

#[test]
fn common_variants_of_csv_are_accepted() {
    let expected = [row("31", "Netherlands", rate(12_500_000, 1, 1), NOW)];
    for file in [
        "\u{feff}Prefix;Notes;RATE_PER_MINUTE;country;destination_name\r\n\
            +31;\"a \"\"note\"\"\r\nof two lines\";0,0125;NL;Netherlands\r\n",
        "rate_per_minute\tcountry\tdestination_name\tprefix\n.0125\tNL\tNetherlands\t0031",
        "\"prefix\",\"destination_name\",\"country\",\"rate_per_minute\"\n\n\
            \"31\",\"Netherlands\",\"NL\",\"0,012500000\"\n\r\n",
        "\"prefix\";\"destination_name\";\"country\";\"rate_per_minute\"\n31 ; Netherlands ;NL; 0.0125\n",
        "prefix,destination_name,country,rate_per_minute,effective_at\n31,Netherlands,NL,0.0125,,,\n",
        "prefix,destination_name,country,rate_per_minute,,\n31,Netherlands,NL,0.0125\n",
    ] {
        assert_eq!(read(file).unwrap(), expected, "{file}");
    }
}

#[test]
fn a_fault_names_the_column_and_what_is_expected() {
    for (column, cell, reason) in [
        ("prefix", "", "must not be empty"),
        ("prefix", "00", "must be 1 to 15 digits"),
        ("prefix", "020", "must begin with a country code"),
        ("prefix", "31x", "must be 1 to 15 digits"),
        ("prefix", "1234567890123456", "must be 1 to 15 digits"),
        ("destination_name", " ", "must not be empty"),
        ("destination_name", "a\u{7}b", "must not have control characters"),
        ("country", "Netherlands", "must be a two-letter country code"),
        ("country", "XX", "must be a two-letter country code"),
        ("rate_per_minute", "free", "must be an amount such as 0.0125"),
        ("rate_per_minute", ".", "must be an amount such as 0.0125"),
        ("rate_per_minute", "1e-3", "must be an amount such as 0.0125"),
        ("rate_per_minute", "\"1.000,50\"", "must be an amount such as 0.0125"),
        ("rate_per_minute", "-0.01", "must not be negative"),
        ("rate_per_minute", "0.0000000001", "must have at most 9 decimals"),
        ("rate_per_minute", "1000000.000000001", "must be at most 1000000"),
        ("rate_per_minute", "99999999999999999999", "must be at most 1000000"),
        ("connect_fee", "x", "must be an amount such as 0.0125"),
        ("billing_increment_seconds", "0", "must be 1 to 3600 seconds"),
        ("billing_increment_seconds", "+1", "must be 1 to 3600 seconds"),
        ("minimum_seconds", "3601", "must be 0 to 3600 seconds"),
        ("effective_at", "31-01-2030", "must be a date such as 2030-01-31 or a timestamp such as 2030-01-31T12:00:00Z"),
        ("effective_at", "2030-02-30", "must be a date such as 2030-01-31 or a timestamp such as 2030-01-31T12:00:00Z"),
    ] {
        assert_eq!(fault(with(column, cell)), format!("line 2: {column} {reason}"), "{cell}");
    }
    assert_eq!(
        fault(with("destination_name", &"é".repeat(201))),
        "line 2: destination_name must have at most 200 characters"
    );
    assert!(read(with("destination_name", &"é".repeat(200))).is_ok());
}

#[test]
fn line_numbers_count_quoted_and_blank_lines() {
    let file = "prefix,destination_name,country,rate_per_minute,note\r\n\r\n31,A,NL,1,\"one\r\ntwo\"\r\n\r\n\
        32,B,NL,x,\r\n33,C,NL,1,\"\n\"\n34,D,NL,y,";
    let lines: Vec<_> = faults(file).first.iter().map(|fault| fault.line).collect();
    assert_eq!(lines, [6, 9]);
}

#[test]
fn one_bad_line_among_many_rejects_the_file() {
    let mut file = String::from("prefix,destination_name,country,rate_per_minute\n");
    for index in 0..100_000 {
        let rate = if index == 50_000 { "0.o1" } else { "0.01" };
        file += &format!("31{index:06},Netherlands,NL,{rate}\n");
    }
    assert_eq!(fault(file), "line 50002: rate_per_minute must be an amount such as 0.0125");
}

#[test]
fn all_faults_are_counted_and_the_first_thousand_kept() {
    let file = with("country", "XX") + &"x,y,XX,1,,,,\n".repeat(2000);
    let faults = faults(file);
    assert_eq!((faults.count, faults.first.len()), (4001, Faults::MAX_KEPT));
    let expected = Fault { line: 3, column: Some("prefix"), cell: None, reason: "must be 1 to 15 digits".to_owned() };
    assert_eq!(faults.first[1], expected);
}

#[test]
fn two_rows_with_one_prefix_and_date_are_a_fault() {
    let header = "prefix,destination_name,country,rate_per_minute,effective_at\n";
    let file = format!("{header}31,A,NL,1,2030-01-01\n31,A,NL,2,2030-01-02\n+31,A,NL,1,2030-01-01T00:00:00Z\n");
    assert_eq!(fault(file), "line 4: prefix is already on line 2 with the same date");
}

#[test]
fn a_stray_quote_does_not_swallow_rows() {
    let header = "prefix,destination_name,country,rate_per_minute,note\n";
    assert_eq!(
        fault(format!("{header}31,A,NL,1,\"x\n32,B,NL,1,y\n")),
        "line 2: a quote is opened and not closed within 64 lines"
    );
    assert_eq!(
        fault(format!("{header}31,A,NL,1,\"x\n32,\"B\",NL,1,y\n")),
        "line 2: there is text after a closing quote"
    );
    assert_eq!(
        fault(format!("{header}31,A,NL,1,5\" pipe\n32,B,NL,1,\n33,B,XX,1,\n")),
        "line 4: country must be a two-letter country code"
    );
}

#[test]
fn a_row_with_missing_or_extra_fields_is_a_fault() {
    let header = "prefix,destination_name,country,rate_per_minute,effective_at\n";
    assert_eq!(fault(format!("{header}31,A,NL,1")), "line 2: the row has 4 fields, the header has 5");
    assert_eq!(fault(format!("{header}31,A,B,NL,1,2030-01-01")), "line 2: the row has 6 fields, the header has 5");
}

#[test]
fn a_file_without_header_or_rows_is_a_fault() {
    assert_eq!(fault(""), "line 1: the file is empty");
    assert_eq!(fault("prefix,destination_name,country,rate_per_minute\n"), "line 1: the file has no rows");
    let missing = faults("31,Netherlands,NL,0.01\n");
    assert_eq!(missing.count, 4);
    assert_eq!(missing.first[0].to_string(), "line 1: prefix is missing from the header");
    let twice = "prefix,destination_name,country,rate_per_minute,prefix\n31,A,NL,1,32\n";
    assert_eq!(fault(twice), "line 1: prefix is in the header twice");
}

#[test]
fn text_that_is_not_utf_8_is_a_fault() {
    let file = [b"prefix,destination_name,country,rate_per_minute\n31,Curac\xE7ao,NL,1\n".as_slice()].concat();
    assert_eq!(fault(file), "line 2: destination_name must be UTF-8");
}

#[test]
fn an_endless_line_is_rejected_after_64_kib() {
    let endless = b"prefix,destination_name,country,rate_per_minute\n".chain(io::repeat(b'1'));
    let options = DeckCsvOptions { now: NOW, is_country: &|_| true };
    let error = DeckCsv::read(endless, &options, |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "the file has faults (1), first: line 2: the row is longer than 65536 bytes");
}

#[test]
fn progress_is_reported_while_all_rows_are_read() {
    let rows: String = (0..10_000).map(|index| format!("31{index:05},A,NL,1\n")).collect();
    let file = format!("prefix,destination_name,country,rate_per_minute\n{rows}");
    let (reports, last) = (Cell::new(0), Cell::new(0));
    let options = DeckCsvOptions { now: NOW, is_country: &|_| true };
    let file = DeckCsv::read(file.as_bytes(), &options, |count| {
        assert!(count > last.replace(count));
        reports.set(reports.get() + 1);
    });
    assert_eq!((reports.get(), last.get()), (3, 10_000));
    assert_eq!(file.unwrap().entries.len(), 10_000);
}

proptest! {
    #[test]
    fn a_written_deck_reads_back_as_the_same_rows(mut rows in rows()) {
        rows.retain(|row| !prefix("0").covers(row.prefix));
        let mut writer = DeckCsvWriter::new(Vec::new()).unwrap();
        for row in &rows {
            writer.row(row.prefix, row.effective_at, row.offer.as_ref().unwrap()).unwrap();
        }
        match read(writer.finish()) {
            Ok(entries) => prop_assert_eq!(entries, rows),
            Err(_) => prop_assert!(rows.is_empty()),
        }
    }

    #[test]
    fn any_price_and_name_read_back_the_same(
        nanos in 0_i64..=1_000_000_000_000_000, name in "[^\\p{C}\\s]([^\\p{C}]{0,20}[^\\p{C}\\s])?",
        at in -62_000_000_000_000_i64..253_000_000_000_000,
    ) {
        let rate = Rate::new(nanos, nanos / 7, 3600, 0).unwrap();
        let offer = Offer { rate, destination: destination(&name, "IE") };
        let mut writer = DeckCsvWriter::new(Vec::new()).unwrap();
        writer.row(prefix("31"), at, &offer).unwrap();
        let expected = Entry::new(prefix("31"), at, Some(offer));
        prop_assert_eq!(read(writer.finish()).unwrap(), [expected]);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(
        bytes in prop::collection::vec(prop::sample::select(b"31,;\t\"\n\r \xFF.NLx".to_vec()), 0..200),
    ) {
        let header = b"prefix,destination_name,country,rate_per_minute\n".as_slice();
        let _ = read([header, &bytes].concat());
        let _ = read(bytes);
    }

    #[test]
    fn a_country_has_two_letters(code in "\\PC{0,3}") {
        let letters = code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_alphabetic());
        prop_assert_eq!(Country::new(&code).is_some(), letters);
    }
}
