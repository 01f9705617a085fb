//! Rate sheets as carriers send them: mappings, previews and imports of CSV and XLSX.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use reqwest::Method;
use rust_xlsxwriter::{ExcelDateTime, Format, Workbook, Worksheet};
use serde_json::{Value, json};

use crate::world::World;
use crate::world::client::{Answer, Client};
use crate::world::engines::both;
use crate::world::fixtures::rates::{DECK, import_deck, import_report, price};
use crate::world::fixtures::upstreams::{create_upstream, upstream_body};
use crate::world::fixtures::{count, key};
use crate::world::form::Form;

const XLSX: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

/// A cell of a test's workbook.
enum Cell {
    Text(&'static str),
    Number(f64),
    Date(&'static str),
    Formula(&'static str),
}

use Cell::{Date, Formula, Number, Text};

fn write(sheet: &mut Worksheet, from: u32, rows: &[&[Cell]]) {
    let dates = Format::new().set_num_format("dd/mm/yyyy");
    for (row, cells) in (from..).zip(rows) {
        for (column, cell) in (0..).zip(*cells) {
            match cell {
                Text(text) => sheet.write(row, column, *text),
                Number(number) => sheet.write(row, column, *number),
                Date(date) => {
                    sheet.write_datetime_with_format(row, column, ExcelDateTime::parse_from_str(date).unwrap(), &dates)
                }
                Formula(formula) => sheet.write_formula(row, column, *formula),
            }
            .unwrap();
        }
    }
}

fn workbook(rows: &[&[Cell]]) -> Vec<u8> {
    let mut book = Workbook::new();
    write(book.add_worksheet(), 0, rows);
    book.save_to_buffer().unwrap()
}

async fn send(admin: &Client, upstream: &str, path: &str, file: &[u8]) -> Answer {
    let content_type = if file.starts_with(b"PK") { XLSX } else { "text/csv" };
    let request = admin.with_key(key()).request(Method::POST, &format!("/admin/upstreams/{upstream}/rates/{path}"));
    admin.send(request.header("content-type", content_type).body(file.to_vec())).await
}

async fn preview(admin: &Client, upstream: &str, file: &[u8]) -> Value {
    send(admin, upstream, "preview", file).await.ok()
}

async fn import(world: &World, admin: &Client, upstream: &str, file: &[u8]) -> Value {
    let accepted = send(admin, upstream, "import", file).await.expect(202);
    world.settle().await;
    import_report(admin, upstream, &accepted).await
}

async fn save_mapping(admin: &Client, upstream: &str, mapping: &Value) -> Answer {
    let path = format!("/admin/upstreams/{upstream}/sheet-mapping");
    admin.with_key(key()).call(Method::PUT, &path, Some(mapping.clone())).await
}

/// Renamed and reordered columns, rates as numbers, dates as dates, increments in one column.
fn reordered() -> Vec<u8> {
    workbook(&[
        &[
            Text("Rate (EUR/min)"),
            Text("Destination"),
            Text("Effective Date"),
            Text("Dial Code"),
            Text("Billing Increment"),
        ],
        &[Number(0.0125), Text("Netherlands"), Date("2020-01-31"), Number(31.0), Text("1/1")],
        &[Number(0.02), Text("Netherlands mobile"), Date("2020-01-31"), Text("316"), Text("60/60")],
    ])
}

/// Title rows, some merged, above a German header; dates as texts.
fn titled() -> Vec<u8> {
    let mut book = Workbook::new();
    let sheet = book.add_worksheet();
    sheet.merge_range(0, 0, 1, 4, "Preisliste Carrier One GmbH", &Format::new().set_bold()).unwrap();
    sheet.merge_range(2, 0, 2, 4, "Alle Preise in EUR ohne USt.", &Format::new()).unwrap();
    write(
        sheet,
        4,
        &[
            &[Text("Ziel"), Text("Vorwahl"), Text("Preis/Min"), Text("Taktung"), Text("Gültig ab")],
            &[Text("Niederlande"), Text("0031"), Text("0,0125"), Text("1/1"), Text("31.01.2020")],
            &[Text("Niederlande mobil"), Text("00316"), Text("0,02"), Text("60/60"), Text("31.01.2020")],
        ],
    );
    book.save_to_buffer().unwrap()
}

/// Two sheets, of which the second has the rates, with several prefixes in a cell.
fn two_sheets() -> Vec<u8> {
    let mut book = Workbook::new();
    write(book.add_worksheet().set_name("Conditions").unwrap(), 0, &[&[Text("Conditions"), Text("Prix sans TVA")]]);
    write(
        book.add_worksheet().set_name("Tarifs").unwrap(),
        1,
        &[
            &[Text("Destination"), Text("Indicatif"), Text("Prix par minute"), Text("Palier"), Text("Date d'effet")],
            &[Text("Pays-Bas"), Text("31, 3120"), Number(0.0125), Text("1/1"), Text("31/01/2020")],
            &[Text("Pays-Bas mobile"), Text("316, 3161-3165"), Number(0.02), Text("60/60"), Text("31/01/2020")],
        ],
    );
    book.save_to_buffer().unwrap()
}

/// Semicolons, decimal commas and days before months.
const SEMICOLONS: &str = "Tarifas de Carrier One;;;;\n\
    Prefijo;Destino;Tarifa (EUR);Incremento;Fecha efectiva\n\
    31;Países Bajos;0,0125;1/1;31/01/2020\n\
    316;Países Bajos móvil;0,02;60/60;31/01/2020\n";

/// Dial codes and area codes apart, minimum and increment apart, and a column of changes.
const AREA_CODES: &str = "Country Code,Area Code,Destination,New Rate,Interval 1,Interval N,Effective Date,Change\n\
    31,,Netherlands,0.0125,1,1,01/31/2020,Same\n\
    31,6,Netherlands mobile,0.02,60,60,01/31/2020,Increase\n\
    44,7,United Kingdom mobile,,,,01/31/2020,Closed\n";

both! {
    async fn five_layouts_of_carriers_import_after_one_mapping(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let layouts = [reordered(), titled(), two_sheets(), SEMICOLONS.into(), AREA_CODES.into()];
        for (number, file) in layouts.iter().enumerate() {
            let upstream = create_upstream(&admin, upstream_body()).await;
            let seen = preview(&admin, &upstream, file).await;
            assert_eq!((&seen["layout"], &seen["error_count"]), (&json!("detected"), &json!(0)), "{number}: {seen}");
            let first = &seen["rows"][0];
            assert_eq!((&first["prefix"], &first["country"]), (&json!("31"), &json!("NL")), "{number}: {seen}");
            assert_eq!(first["rate_per_minute"]["amount"], "0.0125", "{number}: {seen}");
            assert_eq!(first["effective_at"], "2020-01-31T00:00:00Z", "{number}: {seen}");
            let mobile = seen["rows"].as_array().unwrap().iter().find(|row| row["prefix"] == "316").unwrap();
            assert_eq!(mobile["rate_per_minute"]["amount"], "0.02", "{number}: {seen}");
            let seconds = (&mobile["minimum_seconds"], &mobile["billing_increment_seconds"]);
            assert_eq!(seconds, (&json!(60), &json!(60)), "{number}: {seen}");
            // Nothing is imported by a guess.
            assert_eq!(import(&world, &admin, &upstream, file).await["status"], "failed", "{number}");
            assert_eq!(save_mapping(&admin, &upstream, &seen["detected"]).await.ok(), seen["detected"], "{number}");
            let report = import(&world, &admin, &upstream, file).await;
            assert_eq!(report["status"], "completed", "{number}: {report}");
            assert_eq!(report["rows_total"], report["rows_done"]);
            assert_eq!(price(&world, "31612345678").await.as_deref(), Some("0.022"), "{number}");
            assert_eq!(price(&world, "31701234567").await.as_deref(), Some("0.01375"), "{number}");
            assert_eq!(preview(&admin, &upstream, file).await["layout"], "saved");
            admin.with_key(key()).patch(&format!("/admin/upstreams/{upstream}"), json!({"status": "disabled"})).await.ok();
        }
        world.end().await;
    }

    async fn a_closed_row_withdraws_a_prefix_of_the_deck_in_force(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        let deck = format!("{DECK}447,United Kingdom mobile,GB,0.02,1,1\n");
        import_deck(&world, &admin, &upstream, "", &deck).await;
        let detected = preview(&admin, &upstream, AREA_CODES.as_bytes()).await["detected"].clone();
        save_mapping(&admin, &upstream, &detected).await.ok();
        let accepted = send(&admin, &upstream, "import?mode=merge", AREA_CODES.as_bytes()).await.expect(202);
        world.settle().await;
        let report = import_report(&admin, &upstream, &accepted).await;
        assert_eq!((&report["status"], &report["removed"]), (&json!("completed"), &json!(1)), "{report}");
        // The longer prefix is gone, the shorter one stays.
        assert_eq!(price(&world, "447123456789").await.as_deref(), Some("0.00671"));
        world.end().await;
    }

    async fn our_own_header_needs_no_mapping_in_either_format(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        let own = workbook(&[
            &[Text("prefix"), Text("destination_name"), Text("country"), Text("rate_per_minute"), Text("effective_at")],
            &[Number(31.0), Text("Netherlands"), Text("NL"), Number(0.012), Date("2020-01-31")],
        ]);
        let seen = preview(&admin, &upstream, &own).await;
        assert_eq!((&seen["layout"], &seen["mapping"]), (&json!("own_header"), &Value::Null));
        assert_eq!((&seen["format"], &seen["header_row"]), (&json!("xlsx"), &json!(1)));
        let report = import(&world, &admin, &upstream, &own).await;
        assert_eq!((&report["status"], &report["rows_total"]), (&json!("completed"), &json!(1)), "{report}");
        assert_eq!(price(&world, "31201234567").await.as_deref(), Some("0.0132"));
        // Also beside a mapping that the file does not fit.
        let detected = preview(&admin, &upstream, SEMICOLONS.as_bytes()).await["detected"].clone();
        save_mapping(&admin, &upstream, &detected).await.ok();
        assert_eq!(import_deck(&world, &admin, &upstream, "", DECK).await["status"], "completed");
        world.end().await;
    }

    async fn a_file_is_read_by_the_mapping_that_comes_with_it(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        let mapping = preview(&admin, &upstream, &titled()).await["detected"].to_string();
        let form = || Form::default().text("mapping", &mapping).file("file", "rates.xlsx", &titled());
        let seen = form().post(&admin, &format!("/admin/upstreams/{upstream}/rates/preview")).await.ok();
        assert_eq!((&seen["layout"], &seen["error_count"], &seen["header_row"]), (&json!("given"), &json!(0), &json!(5)));
        let accepted = form().post(&admin.with_key(key()), &format!("/admin/upstreams/{upstream}/rates/import")).await.expect(202);
        world.settle().await;
        assert_eq!(import_report(&admin, &upstream, &accepted).await["status"], "completed");
        admin.get(&format!("/admin/upstreams/{upstream}/sheet-mapping")).await.problem(404, "not_found");
        let path = format!("/admin/upstreams/{upstream}/rates/preview");
        assert_eq!(Form::default().text("mapping", &mapping).post(&admin, &path).await.invalid(), ["file"]);
        assert_eq!(form().text("colour", "red").post(&admin, &path).await.invalid(), ["colour"]);
        let bad = mapping.replace("DD.MM.YYYY", "DD.MM.YY");
        let bad = Form::default().text("mapping", &bad).file("file", "rates.xlsx", &titled());
        assert_eq!(bad.post(&admin, &path).await.invalid(), ["date_format"]);
        world.end().await;
    }

    async fn formulas_and_errors_are_named_by_cell_and_change_nothing(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        let file = workbook(&[
            &[Text("prefix"), Text("destination_name"), Text("country"), Text("rate_per_minute"), Text("note")],
            &[Number(31.0), Text("Netherlands"), Text("NL"), Formula("=1/80"), Formula("=1+1")],
            &[Text("O32"), Text("Belgium"), Text("BE"), Number(0.1 + 0.2), Text("")],
            &[Number(33.0), Text("France"), Text("FR"), Date("2026-01-31"), Text("")],
        ]);
        let report = import(&world, &admin, &upstream, &file).await;
        assert_eq!((&report["status"], &report["error_count"]), (&json!("failed"), &json!(4)), "{report}");
        let cells: Vec<&Value> = report["errors"].as_array().unwrap().iter().map(|error| &error["cell"]).collect();
        assert_eq!(cells, ["D2", "A3", "D3", "D4"]);
        assert_eq!(report["errors"][0]["reason"], "must be a value, not a formula");
        let seen = preview(&admin, &upstream, &file).await;
        assert_eq!(seen["errors"], report["errors"]);
        assert_eq!(count(db, "SELECT COUNT(*) FROM decks").await, 0);
        world.end().await;
    }

    async fn a_truncated_or_protected_workbook_is_refused_by_name(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        let whole = reordered();
        let cut = &whole[..whole.len() / 2];
        let report = import(&world, &admin, &upstream, cut).await;
        let expected = (&json!("failed"), &json!("the workbook is truncated or damaged"));
        assert_eq!((&report["status"], &report["reason"]), expected, "{report}");
        assert_eq!(send(&admin, &upstream, "preview", cut).await.invalid(), ["file"]);
        let name: Vec<u8> = "EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let sealed = [&[0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1, 0, 0][..], &name].concat();
        let report = import(&world, &admin, &upstream, &sealed).await;
        assert_eq!(report["reason"], "the workbook is protected with a password");
        world.end().await;
    }

    async fn a_mapping_is_kept_for_each_upstream_and_bad_ones_are_refused(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let (one, other) = (create_upstream(&admin, upstream_body()).await, create_upstream(&admin, upstream_body()).await);
        let columns = json!({"prefix": "Code", "destination_name": "Name", "rate_per_minute": "Rate"});
        let saved = save_mapping(&admin, &one, &json!({"columns": columns, "date_format": "DD/MM/YYYY"})).await.ok();
        assert_eq!(admin.get(&format!("/admin/upstreams/{one}/sheet-mapping")).await.ok(), saved);
        admin.get(&format!("/admin/upstreams/{other}/sheet-mapping")).await.problem(404, "not_found");
        for (bad, field) in [
            (json!({"columns": columns, "date_format": "dd/mm/yyyy"}), "date_format"),
            (json!({"columns": columns, "header_row": 0}), "header_row"),
            (json!({"columns": columns, "decimal_separator": ";"}), "decimal_separator"),
            (json!({"columns": {"prefix": "Code", "destination_name": "Name"}}), "columns.rate_per_minute"),
        ] {
            assert_eq!(save_mapping(&admin, &one, &bad).await.invalid(), [field], "{bad}");
        }
        // The file lacks a mapped column.
        let report = import(&world, &admin, &one, b"Code;Name;Price\n31;Netherlands;0,01\n").await;
        assert_eq!(report["errors"][0]["column"], "rate_per_minute", "{report}");
        admin.with_key(key()).call(Method::DELETE, &format!("/admin/upstreams/{other}"), None).await.expect(204);
        world.end().await;
    }
}
