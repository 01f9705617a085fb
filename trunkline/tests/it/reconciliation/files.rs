//! Statements as files: mappings, errors by line and cell, repeated uploads, and who may send and read them.

use reqwest::Method;
use rust_xlsxwriter::Workbook;
use serde_json::{Value, json};
use values::Role;

use super::{counts, path_of, quiet, reconciled, upload};
use crate::world::engines::both;
use crate::world::fixtures::{count, key};
use crate::world::form::Form;

const STATEMENT: &str = "called_number,started_at,duration_seconds,cost\n+31201234567,2026-01-01T12:00:00Z,60,0.0045\n";
const GERMAN: &str = "Abrechnung Oktober;;;\nZielrufnummer;Gesprächsbeginn;Dauer (Sek.);Betrag (EUR)\n\
                      0031201234567;13.10.2026 01:00:00;00:01:30;0,0045\n";

fn columns() -> Value {
    json!({"called_number": "Called", "started_at": "Start", "duration_seconds": "Length", "cost": "Price"})
}

both! {
    async fn a_repeated_upload_answers_alike_and_is_compared_once(db) {
        let scene = quiet(db).await;
        let path = format!("/admin/upstreams/{}/statements", scene.upstream);
        let caller = scene.admin.with_key(key());
        let send = async |body: &'static str| {
            caller.send(caller.request(Method::POST, &path).header("content-type", "text/csv").body(body)).await
        };
        let first = send(STATEMENT).await.expect(202);
        let again = send(STATEMENT).await;
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        assert_eq!(again.expect(202), first);
        send(GERMAN).await.problem(409, "idempotency.conflict");
        let keyless = scene.admin.request(Method::POST, &path).header("content-type", "text/csv").body(STATEMENT);
        scene.admin.send(keyless).await.problem(400, "idempotency.key_required");
        scene.world.settle().await;
        assert_eq!(count(db, "SELECT COUNT(*) FROM upstream_statements").await, 1);
        assert_eq!(counts(&scene.admin.get(&path_of(&first)).await.ok()), [0, 1, 0, 0, 0]);
        scene.end().await;
    }

    async fn a_header_with_common_words_needs_no_mapping(db) {
        let scene = quiet(db).await;
        let statement = reconciled(&scene, "", GERMAN.as_bytes()).await;
        assert_eq!((&statement["status"], counts(&statement)), (&json!("completed"), [0, 1, 0, 0, 0]), "{statement}");
        assert_eq!(statement["period_from"], "2026-10-13T01:00:00Z");
        assert_eq!(statement["mapping"]["date_format"], "DD.MM.YYYY HH:mm:ss");
        assert_eq!(statement["mapping"]["columns"]["cost"], "Betrag (EUR)");
        // What it was read by can be saved, and a file can bring its own.
        let path = format!("/admin/upstreams/{}/statement-mapping", scene.upstream);
        scene.admin.get(&path).await.problem(404, "not_found");
        let mut mapping = statement["mapping"].clone();
        mapping["time_zone"] = json!("Europe/Amsterdam");
        assert_eq!(scene.admin.with_key(key()).call(Method::PUT, &path, Some(mapping.clone())).await.ok(), mapping);
        assert_eq!(scene.admin.get(&path).await.ok(), mapping);
        let statement = reconciled(&scene, "", GERMAN.as_bytes()).await;
        assert_eq!(statement["period_from"], "2026-10-12T23:00:00Z", "{statement}");
        mapping["time_zone"] = json!("America/New_York");
        let form = Form::default().text("mapping", &mapping.to_string()).file("file", "cdrs.csv", GERMAN.as_bytes());
        let path = format!("/admin/upstreams/{}/statements", scene.upstream);
        let accepted = form.post(&scene.admin.with_key(key()), &path).await.expect(202);
        scene.world.settle().await;
        let statement = scene.admin.get(&path_of(&accepted)).await.ok();
        assert_eq!((&statement["period_from"], &statement["mapping"]), (&json!("2026-10-13T05:00:00Z"), &mapping));
        scene.end().await;
    }

    async fn every_error_of_a_file_is_named_and_nothing_is_compared(db) {
        let scene = quiet(db).await;
        let bad = format!("{STATEMENT}0201234567,yesterday,1:2:3:4,-1\n+31201234567,2026-01-01T12:00:00Z,60,\n");
        let statement = reconciled(&scene, "", bad.as_bytes()).await;
        assert_eq!((&statement["status"], &statement["error_count"]), (&json!("failed"), &json!(5)), "{statement}");
        let errors = statement["errors"].as_array().unwrap();
        let places: Vec<_> = errors.iter().map(|error| (error["line"].as_i64().unwrap(), error["column"].as_str().unwrap())).collect();
        assert_eq!(places, [(3, "called_number"), (3, "started_at"), (3, "duration_seconds"), (3, "cost"), (4, "cost")]);
        assert_eq!(count(db, "SELECT COUNT(*) FROM statement_lines").await, 0);
        scene.admin.get(&format!("{}/lines", path_of(&statement))).await.problem(409, "state.conflict");

        let mut book = Workbook::new();
        let sheet = book.add_worksheet();
        for (column, name) in (0..).zip(["called_number", "started_at", "duration_seconds", "cost"]) {
            sheet.write(0, column, name).unwrap();
        }
        sheet.write(1, 0, 31_201_234_567_f64).unwrap();
        sheet.write(1, 1, "2026-01-01 12:00:00").unwrap();
        sheet.write(1, 2, "a minute").unwrap();
        sheet.write_formula(1, 3, "=1/80").unwrap();
        let statement = reconciled(&scene, "", &book.save_to_buffer().unwrap()).await;
        let cells: Vec<&Value> = statement["errors"].as_array().unwrap().iter().map(|error| &error["cell"]).collect();
        assert_eq!(cells, ["C2", "D2"], "{statement}");
        let statement = reconciled(&scene, "", b"PK is not a workbook").await;
        assert_eq!((&statement["status"], &statement["reason"]), (&json!("failed"), &json!("the workbook is truncated or damaged")));
        let statement = reconciled(&scene, "", b"when,what\n1,2\n").await;
        assert!(statement["errors"][0]["reason"].as_str().unwrap().contains("there is no header"), "{statement}");
        // Dates that could be read in two ways are not guessed.
        let two = "Called,Start,Length,Price\n31201234567,01/02/2026 12:00:00,60,0.01\n";
        let statement = reconciled(&scene, "", two.as_bytes()).await;
        assert_eq!((&statement["errors"][0]["column"], &statement["status"]), (&json!("started_at"), &json!("failed")));
        scene.end().await;
    }

    async fn a_mapping_that_says_too_little_or_too_much_is_refused(db) {
        let scene = quiet(db).await;
        let path = format!("/admin/upstreams/{}/statement-mapping", scene.upstream);
        let without = |name: &str| {
            let mut columns = columns();
            columns.as_object_mut().unwrap().remove(name);
            columns
        };
        let mut both = columns();
        both["rate_per_minute"] = json!("Rate");
        for (bad, field) in [
            (json!({"columns": without("cost")}), "columns"),
            (json!({"columns": both}), "columns"),
            (json!({"columns": without("started_at")}), "columns.started_at"),
            (json!({"columns": columns(), "date_format": "DD/MM/YYYY"}), "date_format"),
            (json!({"columns": columns(), "time_zone": "Mars/Olympus"}), "time_zone"),
            (json!({"columns": columns(), "decimal_separator": ";"}), "decimal_separator"),
            (json!({"columns": columns(), "start_tolerance_seconds": -1}), "start_tolerance_seconds"),
        ] {
            assert_eq!(scene.admin.with_key(key()).call(Method::PUT, &path, Some(bad.clone())).await.invalid(), [field], "{bad}");
            let form = Form::default().text("mapping", &bad.to_string()).file("file", "cdrs.csv", STATEMENT.as_bytes());
            let upload = format!("/admin/upstreams/{}/statements", scene.upstream);
            assert_eq!(form.post(&scene.admin.with_key(key()), &upload).await.invalid(), [field], "{bad}");
        }
        scene.admin.with_key(key()).call(Method::PUT, &path, Some(json!({"columns": columns()}))).await.ok();
        // The file lacks a mapped column.
        let file = "Called,Start,Length,Amount\n31201234567,2026-01-01T12:00:00Z,60,0.01\n";
        let statement = reconciled(&scene, "", file.as_bytes()).await;
        assert_eq!(statement["errors"][0]["column"], "cost", "{statement}");
        // Our own header is read beside any mapping.
        assert_eq!(counts(&reconciled(&scene, "", STATEMENT.as_bytes()).await), [0, 1, 0, 0, 0]);
        scene.end().await;
    }

    async fn admins_send_statements_and_the_team_reads_them(db) {
        let scene = quiet(db).await;
        let statement = reconciled(&scene, "", STATEMENT.as_bytes()).await;
        let path = path_of(&statement);
        let list = format!("/admin/upstreams/{}/statements", scene.upstream);
        let mapping = format!("/admin/upstreams/{}/statement-mapping", scene.upstream);
        let support = scene.world.minted(Role::Support).await;
        upload(&support, &scene.upstream, "", STATEMENT.as_bytes()).await.expect(403);
        support.call(Method::PUT, &mapping, Some(json!({"columns": columns()}))).await.expect(403);
        for path in [&path, &list, &format!("{path}/lines"), &format!("{path}/lines?format=csv")] {
            assert_eq!(support.get(path).await.status, 200);
            scene.customer.get(path).await.expect(403);
            scene.world.anyone().get(path).await.expect(401);
        }
        upload(&scene.customer, &scene.upstream, "", STATEMENT.as_bytes()).await.expect(403);
        let unknown = key().to_string();
        upload(&scene.admin, &unknown, "", STATEMENT.as_bytes()).await.problem(404, "not_found");
        scene.admin.get(&format!("{list}/{unknown}")).await.problem(404, "not_found");
        scene.admin.get(&format!("{path}/lines?kind=all")).await.problem(422, "validation.failed");
        scene.end().await;
    }
}
