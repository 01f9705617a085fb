//! The CDR archive: days before the hot window as Parquet files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::Command;

use db::params;
use serde_json::{Value, json};
use values::Role;

use super::exports::{export, fetch};
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::cdrs::{call_ids, cdr_line, import_cdrs, ndjson, rfc3339, send_cdrs, unanswered_line};
use crate::world::fixtures::switch::{Scene, merged};
use crate::world::fixtures::{count, execute, key};
use crate::world::s3::files_below;
use crate::world::{MASTER_SECRET, World, process};

const DAY: i64 = 86_400_000;
const ARCHIVE: &str = "archive_cdrs";
const DROP: &str = "drop_archived_cdrs";
const CORA: &str = "cora@customer.example";

/// A scene whose calls of ten days have left the hot window. Neither job of the archive has run since, or runs by itself.
struct Old {
    scene: Scene,
    /// When the first day begins.
    from: i64,
    /// When the last day ends.
    to: i64,
}

/// Keeps a schedule from advancing, and so its job from being enqueued.
async fn hold(db: &TestDb, name: &str) {
    let sql = if db.is_shared() {
        format!("CREATE RULE held_{name} AS ON UPDATE TO schedules WHERE OLD.name = '{name}' DO INSTEAD NOTHING")
    } else {
        format!(
            "CREATE TRIGGER held_{name} BEFORE UPDATE ON schedules WHEN OLD.name = '{name}' BEGIN SELECT RAISE(IGNORE); END"
        )
    };
    execute(db, sql.leak()).await;
}

impl Old {
    async fn start(db: &TestDb) -> Old {
        let settings = [("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_CDR_HOT_DAYS", "90")];
        let scene = Scene::in_world(World::with(db, &settings).await, 100_000).await;
        scene.world.advance_to_next(86_400).await;
        let from = scene.world.seconds() / 86_400 * DAY;
        for day in 0..10 {
            scene.world.advance(3600).await;
            let began = from + day * DAY;
            let mobile = json!({"called": "+31612345678", "upstream_id": scene.upstream});
            import_cdrs(
                &scene.world,
                &[
                    cdr_line(&scene, &format!("first-{day}"), began, 7 + day, json!({"upstream_id": scene.upstream})),
                    cdr_line(&scene, &format!("mobile-{day}"), began + 1, 61, mobile),
                    cdr_line(&scene, &format!("unrouted-{day}"), began + 1, 13, json!({"called": "+442071234567"})),
                    unanswered_line(&scene, &format!("busy-{day}"), began + 3_000_000, json!({})),
                ],
            )
            .await;
            scene.world.advance_to_next(86_400).await;
        }
        let old = Old { from, to: from + 10 * DAY, scene };
        old.hold(db).await;
        old.scene.world.advance(95 * 86_400).await;
        import_cdrs(&old.scene.world, &[cdr_line(&old.scene, "fresh", old.scene.now() - 60_000, 5, json!({}))]).await;
        old
    }

    /// Keeps the jobs of the archive from running by the calendar.
    async fn hold(&self, db: &TestDb) {
        for name in [ARCHIVE, DROP, "orphans"] {
            hold(db, name).await;
        }
    }

    async fn write(&self, db: &TestDb) {
        self.run(db, ARCHIVE).await;
    }

    async fn finish(&self, db: &TestDb) {
        self.run(db, DROP).await;
    }

    async fn run(&self, db: &TestDb, name: &str) {
        let end = if db.is_shared() {
            format!("DROP RULE held_{name} ON schedules")
        } else {
            format!("DROP TRIGGER held_{name}")
        };
        execute(db, end.leak()).await;
        execute(db, format!("UPDATE schedules SET next_run_at = 0 WHERE name = '{name}'").leak()).await;
        self.scene.world.advance(1).await;
        hold(db, name).await;
    }

    /// The bytes of a customer's export of everything.
    async fn exported(&self, changes: Value) -> Vec<u8> {
        let customer = self.scene.world.sign_in(CORA).await;
        let range = json!({"from": rfc3339(self.from), "to": rfc3339(self.scene.now())});
        let made = export(&self.scene.world, &customer, merged(range, changes)).await;
        assert_eq!(made["status"], "ready", "{made}");
        fetch(&self.scene.world, &made).await.1
    }

    /// The bytes of the team's export of everything.
    async fn exported_by_team(&self) -> Vec<u8> {
        let team = self.scene.world.minted(Role::Admin).await;
        let range = json!({"from": rfc3339(self.from), "to": rfc3339(self.scene.now())});
        let asked = team.with_key(key()).post("/admin/cdrs/exports", range).await.expect(202);
        self.scene.world.settle().await;
        let made = team.get(&format!("/admin/cdrs/exports/{}", asked["id"].as_str().unwrap())).await.ok();
        fetch(&self.scene.world, &made).await.1
    }

    async fn files(&self) -> Vec<Value> {
        let page = self.scene.world.minted(Role::Support).await.get("/admin/cdrs/archive").await.ok();
        page["data"].as_array().unwrap().clone()
    }

    /// The file of the third day.
    async fn third(&self) -> Value {
        let day = rfc3339(self.from + 2 * DAY);
        self.files().await.into_iter().find(|file| day.starts_with(file["day"].as_str().unwrap())).unwrap()
    }

    async fn hot_from(&self) -> Value {
        self.scene.world.sign_in(CORA).await.get("/cdrs").await.ok()["hot_from"].clone()
    }

    /// How many CDRs the database has.
    async fn stored(&self) -> i64 {
        self.scene.count("SELECT COUNT(*) FROM cdrs").await
    }

    /// The file in the store with this hash.
    fn stored_file(&self, file: &Value) -> PathBuf {
        let hash = file["sha256"].as_str().unwrap();
        let files = files_below(&self.scene.world.data_folder().join("files"));
        files.into_iter().find(|path| path.ends_with(hash)).unwrap()
    }
}

/// Calls, seconds, charge and cost of the first ten days by the rollups, oldest first.
async fn rollups(db: &TestDb, from: i64) -> Vec<(i64, i64, i64, i64)> {
    let sql = "SELECT CAST(SUM(attempts) AS BIGINT), CAST(SUM(seconds) AS BIGINT), CAST(SUM(charge) AS BIGINT),
                      CAST(SUM(cost) AS BIGINT)
               FROM cdr_days WHERE day >= $1 AND day < $1 + 10 GROUP BY day ORDER BY day";
    db.read().await.unwrap().all(sql, params![from / DAY]).await.unwrap()
}

/// Whether the command succeeds, and what it says.
fn command(db: &TestDb, folder: &Path, arguments: &[&str]) -> (bool, String) {
    let output = process::run(db, folder, &[("TRUNKLINE_MASTER_SECRET", MASTER_SECRET)], arguments);
    let words = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.success(), String::from_utf8(words).unwrap().trim().to_owned())
}

/// The nanos of an amount.
fn nanos(money: &Value) -> i64 {
    let (whole, rest) = money["amount"].as_str().unwrap().split_once('.').unwrap();
    format!("{whole}{rest:0<9}").parse().unwrap()
}

/// Nanos as a decimal with nine places.
fn decimal(nanos: i64) -> String {
    format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
}

both! {
    async fn archived_days_leave_the_database_and_exports_still_have_them(db) {
        let old = Old::start(db).await;
        let zone = json!({"format": "jsonl", "time_zone": "Asia/Kolkata", "filters": {"called": "316"}});
        let (before, mobile) = (old.exported(json!({})).await, old.exported(zone.clone()).await);
        let of_team = old.exported_by_team().await;
        let sums = rollups(db, old.from).await;
        assert_eq!((sums.len(), old.stored().await, old.hot_from().await), (10, 41, Value::Null));

        // Written, and still in the database.
        old.write(db).await;
        let files = old.files().await;
        assert_eq!((files.len(), old.stored().await, old.hot_from().await), (10, 41, Value::Null));
        assert!(files.iter().all(|file| file["verified_at"].is_null() && file["calls"] == 4), "{files:?}");
        // A second run has nothing to do.
        old.write(db).await;
        assert_eq!(old.files().await.len(), 10);

        old.finish(db).await;
        assert_eq!((old.stored().await, old.hot_from().await), (1, json!(rfc3339(old.to))));
        let files = old.files().await;
        for (file, (calls, _, charge, cost)) in files.iter().rev().zip(&sums) {
            assert!(file["verified_at"].is_string() && file["part"] == 1 && file["has_numbers"] == true, "{file}");
            let shown = (file["calls"].as_i64().unwrap(), nanos(&file["customer_charge"]), nanos(&file["our_cost"]));
            assert_eq!(shown, (*calls, *charge, *cost));
        }
        assert_eq!(rollups(db, old.from).await, sums);
        assert_eq!(String::from_utf8(old.exported(json!({})).await).unwrap(), String::from_utf8(before).unwrap());
        assert_eq!(old.exported(zone).await, mobile);
        assert_eq!(String::from_utf8(old.exported_by_team().await).unwrap(), String::from_utf8(of_team).unwrap());
        let day = json!({"from": rfc3339(old.from + 1), "to": rfc3339(old.from + DAY)});
        assert_eq!(String::from_utf8(old.exported(day).await).unwrap().lines().count(), 4);
        let audit = "SELECT COUNT(*) FROM audit_log WHERE action = 'cdrs.archive'";
        assert_eq!(old.scene.count(audit).await, 10);

        let bytes = fetch(&old.scene.world, &files[0]).await.1;
        assert!(bytes.starts_with(b"PAR1") && bytes.len() as i64 == files[0]["size_bytes"].as_i64().unwrap());
        let (first, folder) = (old.stored_file(&files[9]), old.scene.world.take_folder().await);
        let verify = || command(db, folder.path(), &["cdrs", "archive", "verify"]);
        assert_eq!(verify(), (true, "The CDR archive is valid: 40 CDRs in 10 files.".to_owned()));
        let original = std::fs::read(&first).unwrap();
        let mut altered = original.clone();
        altered[original.len() / 2] ^= 1;
        std::fs::write(&first, altered).unwrap();
        assert!(!verify().0, "an altered file went unnoticed");
        std::fs::remove_file(&first).unwrap();
        let (is_valid, message) = verify();
        assert!(!is_valid && message.contains("the file is missing"), "{message}");
    }

    async fn an_archived_call_can_be_exported_and_nothing_else(db) {
        let old = Old::start(db).await;
        let range = format!("from={}&to={}", rfc3339(old.from), rfc3339(old.to));
        let customer = old.scene.world.sign_in(CORA).await;
        let page = customer.get(&format!("/cdrs?{range}")).await.ok();
        assert_eq!((page["data"].as_array().unwrap().len(), &page["hot_from"]), (40, &Value::Null));
        let id = page["data"][39]["id"].as_str().unwrap().to_owned();
        old.write(db).await;
        old.finish(db).await;

        let page = customer.get(&format!("/cdrs?{range}")).await.ok();
        assert_eq!((&page["data"], &page["hot_from"]), (&json!([]), &json!(rfc3339(old.to))));
        assert_eq!(call_ids(&customer.get("/cdrs").await.ok()), ["fresh"]);
        let team = old.scene.world.minted(Role::Admin).await;
        assert_eq!(team.get("/admin/cdrs").await.ok()["hot_from"], json!(rfc3339(old.to)));
        for problem in [
            customer.get(&format!("/cdrs/{id}")).await.problem(404, "not_found"),
            team.get(&format!("/admin/cdrs/{id}")).await.problem(404, "not_found"),
            customer.with_key(key()).post(&format!("/cdrs/{id}/dispute"), json!({"reason": "Too dear"})).await
                .problem(409, "state.conflict"),
        ] {
            assert!(problem["detail"].as_str().unwrap().contains("are archived"), "{problem}");
        }
        let about = json!({"subject": "A call", "body": "Too dear", "cdr_ids": [id]});
        assert_eq!(customer.with_key(key()).post("/tickets", about).await.invalid(), ["cdr_ids.0"]);
        let late = json!([old.scene.event("ended", &json!(id), 0, json!({}))]);
        assert_eq!(old.scene.send_events(late).await["accepted"], 1);
        let line = cdr_line(&old.scene, "too-late", old.from + 5, 60, json!({}));
        let refused = send_cdrs(&old.scene, &ndjson(&[line])).await.ok();
        assert!(refused["rejected"][0]["reason"].as_str().unwrap().contains("before the hot window"), "{refused}");
        assert_eq!(old.stored().await, 1);
        old.scene.end().await;
    }

    async fn cdrs_stay_in_the_database_while_their_file_is_not_valid(db) {
        let old = Old::start(db).await;
        let before = old.exported(json!({})).await;
        old.write(db).await;
        let third = old.stored_file(&old.third().await);
        let mut altered = std::fs::read(&third).unwrap();
        let middle = altered.len() / 2;
        altered[middle] ^= 1;
        std::fs::write(&third, altered).unwrap();
        old.finish(db).await;
        // The first two days are archived, and the others have to be written again.
        assert_eq!((old.stored().await, old.hot_from().await), (33, json!(rfc3339(old.from + 2 * DAY))));
        assert_eq!(old.files().await.len(), 2);
        assert_eq!(old.exported(json!({})).await, before);

        old.write(db).await;
        let third = old.stored_file(&old.third().await);
        std::fs::remove_file(third).unwrap();
        old.finish(db).await;
        assert_eq!(old.stored().await, 33);
        old.write(db).await;
        old.finish(db).await;
        assert_eq!((old.stored().await, old.hot_from().await), (1, json!(rfc3339(old.to))));
        assert_eq!(old.exported(json!({})).await, before);
        old.scene.end().await;
    }

    async fn a_call_imported_after_its_day_was_written_is_archived_too(db) {
        let old = Old::start(db).await;
        old.write(db).await;
        // One in a day that was written, one before all of them.
        import_cdrs(&old.scene.world, &[
            cdr_line(&old.scene, "late", old.from + 4 * DAY + 2, 60, json!({})),
            unanswered_line(&old.scene, "older", old.from - 7 * DAY, json!({})),
        ]).await;
        old.finish(db).await;
        assert_eq!((old.stored().await, old.hot_from().await), (43, Value::Null));
        old.write(db).await;
        old.finish(db).await;
        assert_eq!((old.stored().await, old.hot_from().await), (1, json!(rfc3339(old.to))));
        let files = old.files().await;
        assert_eq!((files.len(), &files[5]["calls"], &files[10]["calls"]), (11, &json!(5), &json!(1)));
        let all = String::from_utf8(old.exported(json!({})).await).unwrap();
        assert!(all.contains(",late,") && all.lines().count() == 43, "{all}");
        old.scene.end().await;
    }

    async fn an_archive_that_was_interrupted_is_continued(db) {
        let old = Old::start(db).await;
        let before = old.exported(json!({})).await;
        // After the files were stored, before their rows.
        old.write(db).await;
        execute(db, "DELETE FROM cdr_archive_files").await;
        old.write(db).await;
        assert_eq!(old.files().await.len(), 10);
        // After the hot window moved, before the CDRs were deleted.
        execute(db, "UPDATE cdr_archive_files SET verified_at = created_at").await;
        execute(db, "UPDATE cdr_archive SET hot_from = (SELECT (MAX(day) + 1) * 86400000 FROM cdr_archive_files)").await;
        assert_eq!((old.stored().await, old.hot_from().await), (41, json!(rfc3339(old.to))));
        assert_eq!(old.exported(json!({})).await, before);
        // Amid the deletion.
        execute(db, "DELETE FROM cdrs WHERE call_id LIKE 'mobile-%' AND called = '+31612345678'").await;
        assert_eq!(old.exported(json!({})).await, before);
        old.finish(db).await;
        assert_eq!(old.stored().await, 1);
        assert_eq!(old.exported(json!({})).await, before);
        old.scene.end().await;
    }

    async fn numbers_leave_the_archive_after_their_retention(db) {
        let old = Old::start(db).await;
        old.write(db).await;
        old.finish(db).await;
        let with_numbers = old.files().await;
        old.scene.world.advance(299 * 86_400).await;
        old.finish(db).await;
        let files = old.files().await;
        let has_numbers: Vec<bool> = files.iter().map(|file| file["has_numbers"].as_bool().unwrap()).collect();
        assert!(has_numbers.is_sorted_by(|newer, older| newer >= older), "{has_numbers:?}");
        assert!(has_numbers[0] && !has_numbers[9], "{has_numbers:?}");
        old.scene.world.advance(30 * 86_400).await;
        old.finish(db).await;
        for (file, numbered) in old.files().await.iter().zip(&with_numbers) {
            assert_eq!(file["has_numbers"], false);
            assert!(file["sha256"] != numbered["sha256"]);
            assert_eq!((&file["calls"], &file["our_cost"]), (&numbered["calls"], &numbered["our_cost"]));
        }
        let customer = old.scene.world.sign_in(CORA).await;
        let range = json!({"from": rfc3339(old.from), "to": rfc3339(old.to)});
        let made = export(&old.scene.world, &customer, range).await;
        let all = String::from_utf8(fetch(&old.scene.world, &made).await.1).unwrap();
        assert_eq!((all.lines().count(), all.matches(",anonymised,anonymised,").count()), (41, 40), "{all}");
        let audit = "SELECT COUNT(*) FROM audit_log WHERE action = 'cdrs.anonymise_archive'";
        assert_eq!(old.scene.count(audit).await, 10);
        let folder = old.scene.world.take_folder().await;
        assert!(command(db, folder.path(), &["cdrs", "archive", "verify"]).0);
    }

    async fn everything_about_a_customer_includes_its_archived_calls(db) {
        let old = Old::start(db).await;
        old.write(db).await;
        old.finish(db).await;
        let account = old.scene.customer.account_id.clone();
        let folder = old.scene.world.take_folder().await;
        let out = folder.path().join("cora");
        let (is_good, told) = command(db, folder.path(), &["export", &account, "--out", out.to_str().unwrap()]);
        assert!(is_good, "{told}");
        let lines = |name: &str| -> Vec<Value> {
            let text = std::fs::read_to_string(out.join(name)).unwrap();
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
        };
        let (archived, recent) = (lines("archived_cdrs.jsonl"), lines("cdrs.jsonl"));
        assert_eq!((archived.len(), recent.len()), (40, 1));
        assert_eq!((&archived[0]["call_id"], &recent[0]["call_id"]), (&json!("first-0"), &json!("fresh")));
        let names = |line: &Value| line.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&archived[0]), names(&recent[0]));
        assert_eq!(archived[0]["started_at"], json!(rfc3339(old.from)));
    }

    async fn duckdb_sums_the_archive_to_the_nano(db) {
        let old = Old::start(db).await;
        old.write(db).await;
        old.finish(db).await;
        let (from, sums) = (old.from, rollups(db, old.from).await);
        let folder = old.scene.world.take_folder().await;
        let copies = folder.path().join("parquet");
        let copied = command(db, folder.path(), &["cdrs", "archive", "copy", copies.to_str().unwrap()]);
        assert!(copied.0 && copied.1.starts_with("10 files are in "), "{copied:?}");
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let output = Command::new(root.join("../target/duckdb/bin/python"))
            .arg(root.join("tests/archive/sums.py"))
            .arg(&copies)
            .output()
            .expect("make test installs DuckDB (make deps-archive)");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines: Vec<Value> =
            output.stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
        assert_eq!(lines.len(), 10);
        for (number, (found, (calls, seconds, charge, cost))) in lines.iter().zip(&sums).enumerate() {
            let began = from + number as i64 * DAY;
            assert_eq!(*found, json!({
                "file": format!("cdrs-{}.parquet", &rfc3339(began)[..10]), "calls": calls, "ids": calls,
                "seconds": seconds.to_string(), "charge": decimal(*charge), "cost": decimal(*cost),
                "type": "DECIMAL(38,9)", "first": began, "last": began + 3_000_000,
            }));
        }
        assert_eq!(count(db, "SELECT COUNT(*) FROM cdrs").await, 1);
    }
}
