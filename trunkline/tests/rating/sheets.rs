//! Decks as carriers lay them out.

use rating::{
    DateFormat, Deck, DeckCsv, DeckCsvError, DeckCsvOptions, DeckSheet, Entry, Mode, SheetColumn, SheetMapping,
    apply_import,
};

const NOW: i64 = 1_800_000_000_000;

fn mapping(columns: &[(SheetColumn, &str)]) -> SheetMapping {
    let columns = columns.iter().map(|(column, name)| (*column, (*name).to_owned())).collect();
    SheetMapping { columns, ..SheetMapping::default() }
}

fn plain() -> SheetMapping {
    mapping(&[(SheetColumn::Prefix, "Code"), (SheetColumn::Destination, "Name"), (SheetColumn::Rate, "Rate")])
}

fn read(text: &str, mapping: &SheetMapping) -> Result<DeckCsv, DeckCsvError> {
    let options = DeckCsvOptions { now: NOW, is_country: &|_| true };
    DeckSheet::read(text.as_bytes(), Some(mapping), &options, |_| {})
}

fn entries(text: &str, mapping: &SheetMapping) -> Vec<Entry> {
    read(text, mapping).unwrap().entries
}

fn faults(text: &str, mapping: &SheetMapping) -> Vec<String> {
    match read(text, mapping) {
        Ok(_) => Vec::new(),
        Err(DeckCsvError::Faults(faults)) => faults.first.iter().map(ToString::to_string).collect(),
        Err(other) => vec![other.to_string()],
    }
}

fn prefixes(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(|entry| entry.prefix.to_string()).collect()
}

#[test]
fn a_cell_names_several_prefixes_and_ranges() {
    let several = SheetMapping { prefix_separator: Some(';'), ..plain() };
    let text = "Code,Name,Rate\n\"31; +32;\n33201-33203\",Some,0.01\n";
    assert_eq!(prefixes(&entries(text, &several)), ["31", "32", "33201", "33202", "33203"]);
    assert_eq!(prefixes(&entries("Code,Name,Rate\n31201-31209,Some,0.01\n", &plain())).len(), 9);
    let reason = "line 2: prefix must be a range such as 31201-31209, of up to 10000 prefixes";
    for range in ["31-329", "39-31", "30000000-39999999"] {
        assert_eq!(faults(&format!("Code,Name,Rate\n{range},Some,0.01\n"), &plain()), [reason], "{range}");
    }
    assert_eq!(faults("Code,Name,Rate\n;,Some,0.01\n", &several), ["line 2: prefix must not be empty"]);
}

#[test]
fn area_codes_follow_the_dial_code() {
    let mut split = SheetMapping { prefix_separator: Some(','), ..plain() };
    split.columns.push((SheetColumn::AreaCode, "Area".to_owned()));
    let text = "Code;Area;Name;Rate\n+1;201,202;US;0.01\n44;;GB;0.02\n1;242;Bahamas;0.1\n";
    let read = entries(text, &split);
    assert_eq!(prefixes(&read), ["1201", "1202", "1242", "44"]);
    let countries: Vec<String> =
        read.iter().map(|entry| entry.offer.as_ref().unwrap().destination.country.as_str().to_owned()).collect();
    assert_eq!(countries, ["US", "US", "BS", "GB"]);
}

#[test]
fn a_closed_row_withdraws_its_prefix_and_an_unknown_word_is_a_fault() {
    let mut changing = plain();
    changing.columns.push((SheetColumn::Change, "Status".to_owned()));
    let text = "Code,Name,Rate,Status\n31,NL,0.01,New\n32,BE,,Closed\n33,FR,0.01,\n34,ES,0.01,Increase\n";
    let offers: Vec<bool> = entries(text, &changing).iter().map(|entry| entry.offer.is_some()).collect();
    assert_eq!(offers, [true, false, true, true]);
    let found = faults("Code,Name,Rate,Status\n31,NL,0.01,Blocked\n", &changing);
    assert!(found[0].starts_with("line 2: change must be a known word"), "{found:?}");
    let listed = SheetMapping { closed_values: vec!["Blocked".to_owned()], ..changing };
    assert!(entries("Code,Name,Rate,Status\n31,NL,0.01,blocked\n", &listed)[0].offer.is_none());
}

#[test]
fn amounts_have_the_decimal_separator_of_the_mapping() {
    let comma = SheetMapping { decimal_separator: Some(','), ..plain() };
    assert_eq!(
        entries("Code;Name;Rate\n31;NL;0,0125\n", &comma)[0].offer.as_ref().unwrap().rate.nanos_per_minute(),
        12_500_000
    );
    let found = faults("Code;Name;Rate\n31;NL;1.234\n", &comma);
    assert_eq!(found, ["line 2: rate_per_minute must be an amount such as 0,0125"]);
}

#[test]
fn missing_and_repeated_columns_are_named() {
    assert_eq!(
        faults("Code,Name,Price\n31,NL,0.01\n", &plain()),
        ["line 1: rate_per_minute is missing: no column is named \"Rate\""]
    );
    assert_eq!(
        faults("Code,Name,Rate,rate\n31,NL,0.01,0.02\n", &plain()),
        ["line 1: rate_per_minute is ambiguous: several columns are named \"Rate\""]
    );
    // Our own header works whatever mapping is saved.
    assert_eq!(entries("prefix,destination_name,country,rate_per_minute\n31,NL,NL,0.01\n", &plain()).len(), 1);
}

#[test]
fn dates_follow_their_pattern() {
    let parse = |pattern: &str, text: &str| pattern.parse::<DateFormat>().unwrap().parse(text);
    const MIDNIGHT: i64 = 1_769_817_600_000;
    for (pattern, text, expected) in [
        ("DD/MM/YYYY", "31/01/2026", Some(MIDNIGHT)),
        ("MM/DD/YYYY", "1/31/2026", Some(MIDNIGHT)),
        ("YYYYMMDD", "20260131", Some(MIDNIGHT)),
        ("DD.MM.YYYY HH:mm", "31.01.2026 00:01", Some(MIDNIGHT + 60_000)),
        ("YYYY-MM-DDTHH:mm:ss", "2026-01-31T00:00:01", Some(MIDNIGHT + 1000)),
        ("DD/MM/YYYY", "01/31/2026", None),
        ("DD/MM/YYYY", "31/01/26", None),
        ("DD/MM/YYYY", "31/01/2026 ", None),
        ("YYYYMMDD", "2026131", None),
    ] {
        assert_eq!(parse(pattern, text), expected, "{pattern} {text}");
    }
    for pattern in ["", "DD/MM/YY", "dd/mm/yyyy", "DD/MM/YYYY mm", "DD/MM/YYYY/DD", "MM-YYYY"] {
        assert!(pattern.parse::<DateFormat>().is_err(), "{pattern}");
    }
}

#[test]
fn titles_above_the_header_and_notes_below_the_table_are_no_rows() {
    let text = "Rates of Carrier One;;\n;;\nValid until further notice;;\nCode;Name;Rate\n31;NL;0.01\n;;\n";
    assert_eq!(prefixes(&entries(text, &plain())), ["31"]);
}

#[test]
fn a_preview_proposes_a_mapping_in_four_languages() {
    let options = DeckCsvOptions { now: NOW, is_country: &|_| true };
    for text in [
        "Dial Code,Destination,Rate (USD),Effective Date\n31,NL,0.01,31/01/2026\n",
        "Vorwahl;Ziel;Preis/Min (EUR);Gültig ab\n31;NL;0,01;31.01.2026\n",
        "Indicatif;Destination;Prix par minute;Date d'effet\n31;NL;0,01;31/01/2026\n",
        "Prefijo;Destino;Tarifa;Vigencia\n31;NL;0,01;31/01/2026\n",
    ] {
        let preview = DeckSheet::preview(text.as_bytes(), None, &options, 20).unwrap();
        assert_eq!((preview.faults.count, preview.rows.len()), (0, 1), "{text}: {:?}", preview.faults);
        let entry = &preview.rows[0].entry;
        assert_eq!(entry.effective_at, 1_769_817_600_000, "{text}");
        assert_eq!(entry.offer.as_ref().unwrap().rate.nanos_per_minute(), 10_000_000, "{text}");
        assert_eq!(entry.offer.as_ref().unwrap().destination.country.as_str(), "NL");
        assert_eq!(preview.detected.unwrap().columns.len(), 4, "{text}");
    }
}

#[test]
fn a_withdrawn_prefix_ends_at_its_date_but_not_before_the_import() {
    let mut changing = plain();
    changing.columns.push((SheetColumn::Change, "Status".to_owned()));
    changing.columns.push((SheetColumn::EffectiveAt, "From".to_owned()));
    let before =
        entries("Code,Name,Rate,Status,From\n31,NL,0.01,New,2020-01-01\n32,BE,0.01,New,2020-01-01\n", &changing);
    let file =
        "Code,Name,Rate,Status,From\n31,NL,,Closed,2021-01-01\n32,BE,,Closed,2100-01-01\n33,FR,,Closed,2021-01-01\n";
    let mut next = apply_import(before, entries(file, &changing), Mode::Merge, NOW);
    let deck = Deck::new(next.by_ref()).unwrap();
    assert_eq!((next.changes().removed, next.changes().added, next.counts_from()), (2, 0, None));
    let is_sold = |prefix: &str, at: i64| deck.get(prefix.parse().unwrap(), at).is_some();
    assert!(is_sold("31", NOW - 1) && !is_sold("31", NOW));
    assert!(is_sold("32", NOW) && !is_sold("32", 4_102_444_800_000));
    assert!(!is_sold("33", NOW));
}
