//! The command line: the real binary, as an operator runs it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use db::params;
use serde_json::Value;
use uuid::Uuid;

use crate::world::engines::{both, uuid};

const MASTER_SECRET: &str = "master-secret-of-a-command-line-0123456789";

/// Runs `trunkline` with nothing of our environment but the database.
fn trunkline(url: &str, folder: &Path, arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_trunkline"))
        .args(arguments)
        .env_clear()
        .env("TRUNKLINE_DATABASE_URL", url)
        .env("TRUNKLINE_DATA_DIR", folder)
        .env("TRUNKLINE_MASTER_SECRET", MASTER_SECRET)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[track_caller]
fn succeeded(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[track_caller]
fn refused(output: &Output) -> String {
    assert!(!output.status.success());
    String::from_utf8(output.stderr.clone()).unwrap()
}

both! {
    async fn the_first_admin_can_be_created_on_the_command_line(db) {
        let folder = tempfile::tempdir().unwrap();
        let run = |arguments: &[&str], input: &str| trunkline(&db.url, folder.path(), arguments, input);
        let bootstrap = ["admin", "bootstrap", "--legal-name", "Carrier", "--name", "Ada", "--email", "ada@carrier.example"];

        assert!(refused(&run(&bootstrap, "short\n")).contains("the password must"));
        assert!(succeeded(&run(&bootstrap, "correct horse battery\n")).contains("usr_"));
        assert!(refused(&run(&bootstrap, "correct horse battery\n")).contains("an admin exists already"));

        let link = succeeded(&run(&["admin", "link", "--email", "ada@carrier.example"], ""));
        assert!(link.starts_with("http://127.0.0.1:8080/magic-link#token="), "{link}");
        assert!(refused(&run(&["admin", "link", "--email", "bob@carrier.example"], "")).contains("no user has this email"));
        assert!(succeeded(&run(&["audit", "verify"], "")).contains("is valid: 2 rows"));
    }

    async fn exchange_rates_are_imported_from_an_ecb_file_only(db) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("eurofxref-daily.xml");
        let run = |file: &Path| trunkline(&db.url, folder.path(), &["fx", "import", file.to_str().unwrap()], "");
        std::fs::write(&file, "<Cube><Cube time='2026-11-13'><Cube currency='USD' rate='1.0832'/></Cube></Cube>").unwrap();
        assert!(succeeded(&run(&file)).contains("of 1 day"));
        let (date, rate): (String, i64) =
            db.read().await.unwrap().one("SELECT date, rate FROM fx_rates", params![]).await.unwrap();
        assert_eq!((date.as_str(), rate), ("2026-11-13", 1_083_200_000));
        std::fs::write(&file, "<html>").unwrap();
        assert!(refused(&run(&file)).contains("not a file of the European Central Bank"));
        assert!(refused(&run(&folder.path().join("absent"))).contains("absent"));
    }

    async fn dead_jobs_are_listed_and_rerun(db) {
        let folder = tempfile::tempdir().unwrap();
        let run = |arguments: &[&str]| trunkline(&db.url, folder.path(), arguments, "");
        assert_eq!(succeeded(&run(&["jobs", "dead"])), "No dead jobs.\n");

        let ids = [uuid(), uuid(), uuid()];
        for (id, kind, dead_at) in [(ids[0], "letter.send", 1), (ids[1], "invoice.issue", 2), (ids[2], "letter.send", 3)] {
            let job = (id, kind, dead_at);
            db.tx(job, |conn, (id, kind, dead_at): &(Uuid, &str, i64)| Box::pin(async move {
                conn.exec(
                    "INSERT INTO jobs (id, kind, payload, run_at, attempts, max_attempts, lease_until, last_error, dead_at, created_at)
                     VALUES ($1, $2, '\"sealed\"', 0, 20, 20, 0, 'no answer', $3, 0)",
                    params![*id, *kind, *dead_at],
                ).await
            })).await.unwrap();
        }
        let told = succeeded(&run(&["jobs", "dead"]));
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines[1], format!("{}  1970-01-01T00:00:00.002Z  invoice.issue, after 20 attempts: no answer", ids[1]));
        assert_eq!(lines[3], "3 dead jobs. Retry them with trunkline jobs rerun.");
        assert!(!told.contains("sealed"), "{told}");

        let unknown = uuid().to_string();
        let told = refused(&run(&["jobs", "rerun", &ids[1].to_string(), &unknown]));
        assert!(told.contains(&format!("there is no dead job {unknown}; nothing was changed")), "{told}");
        assert_eq!(succeeded(&run(&["jobs", "rerun", "--kind", "letter.send"])), "2 jobs will be retried.\n");
        assert!(refused(&run(&["jobs", "rerun", "--kind", "letter.send"])).contains("no dead job has this kind"));
        assert_eq!(succeeded(&run(&["jobs", "rerun", &ids[1].to_string()])), "1 job will be retried.\n");
        assert_eq!(succeeded(&run(&["jobs", "dead"])), "No dead jobs.\n");
        assert!(refused(&run(&["jobs", "rerun"])).contains("required"));
        let audited = "SELECT COUNT(*) FROM audit_log WHERE action = 'jobs.rerun'";
        assert_eq!(db.read().await.unwrap().one::<(i64,)>(audited, &[]).await.unwrap(), (2,));
    }

    async fn migrating_twice_changes_nothing(db) {
        let folder = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            assert!(succeeded(&trunkline(&db.url, folder.path(), &["migrate"], "")).contains("up to date"));
        }
    }
}

#[test]
fn an_invalid_setting_is_named_and_nothing_starts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trunkline.toml");
    std::fs::write(&file, "TRUNKLINE_LISTEN = \"nowhere\"\nTRUNKLINE_LISTNE = \"127.0.0.1:1\"\n").unwrap();
    let url = format!("sqlite://{}", folder.path().join("x.db").display());
    let output = trunkline(&url, folder.path(), &["--config", file.to_str().unwrap(), "serve"], "");
    let complaint = refused(&output);
    assert!(complaint.contains("TRUNKLINE_LISTEN must be an address and port"), "{complaint}");
    assert!(complaint.contains("TRUNKLINE_LISTNE is not a setting"), "{complaint}");
}

#[test]
fn the_openapi_document_needs_no_database() {
    let folder = tempfile::tempdir().unwrap();
    let printed = succeeded(&trunkline("sqlite:///nowhere/at/all.db", folder.path(), &["openapi"], ""));
    let description: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(description["openapi"], "3.1.0");
    assert_eq!(description["info"]["version"], "0.2.0");
}

#[test]
fn every_mail_template_can_be_previewed() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("preview");
    let preview = ["mail", "preview", "--out", out.to_str().unwrap()];
    let printed = succeeded(&trunkline("sqlite:///nowhere/at/all.db", folder.path(), &preview, ""));

    let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/platform/mail/en");
    let mut expected: BTreeSet<_> = files_in(&templates);
    for shared in [
        "message.html",
        "message.txt",
        "parts.html",
        "parts.txt",
        "document_set.txt",
        "factor_change.txt",
        "access_change.txt",
        "dispute_stage.txt",
        "team_dispute_stage.txt",
        "membership_change.txt",
    ] {
        expected.remove(shared);
    }
    let index = std::fs::read_to_string(out.join("index.html")).unwrap();
    assert!(expected.iter().all(|name| index.contains(&format!("src=\"{name}\""))), "{index}");
    expected.insert("index.html".to_owned());
    assert_eq!(files_in(&out), expected);
    let paths: BTreeSet<_> = printed.lines().map(str::to_owned).collect();
    assert_eq!(paths, expected.iter().map(|name| out.join(name).display().to_string()).collect());
}

fn files_in(folder: &Path) -> BTreeSet<String> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn inspecting_a_missing_database_does_not_create_it() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let url = format!("sqlite://{}", data.join("trunkline.db").display());
    for what in ["audit", "ledger", "cdrs"] {
        let told = refused(&trunkline(&url, &data, &[what, "verify"], ""));
        assert!(told.contains("there is no database at"), "{told}");
        assert!(!data.exists());
    }
}

#[test]
fn a_command_that_changes_a_missing_database_does_not_create_it() {
    let folder = tempfile::tempdir().unwrap();
    let (file, data) = (folder.path().join("file"), folder.path().join("data"));
    std::fs::write(&file, "<Cube><Cube time='2026-11-13'><Cube currency='USD' rate='1.0832'/></Cube></Cube>").unwrap();
    let (url, file) = (format!("sqlite://{}", data.join("trunkline.db").display()), file.to_str().unwrap());
    let upstream = uuid().to_string();
    for arguments in [
        &["fx", "import", file][..],
        &["cdrs", "import", file],
        &["rates", "import", "--upstream", &upstream, file],
        &["admin", "link", "--email", "ada@carrier.example"],
    ] {
        let told = refused(&trunkline(&url, &data, arguments, ""));
        assert!(told.contains("there is no database at"), "{told}");
        assert!(!data.exists());
    }
}

#[test]
fn the_data_folder_is_readable_by_its_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let url = format!("sqlite://{}", folder.path().join("trunkline.db").display());
    succeeded(&trunkline(&url, &folder.path().join("other"), &["migrate"], ""));
    refused(&trunkline(&url, &data, &["admin", "link", "--email", "nobody@customer.example"], ""));
    for path in [data, folder.path().join("trunkline.db")] {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{} has {mode:o}", path.display());
    }
}

#[test]
fn a_syntax_error_in_a_settings_file_names_only_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trunkline.toml");
    std::fs::write(&file, "TRUNKLINE_DATA_DIR = \"data\"\nTRUNKLINE_JWT_SECRET = hunter2\n").unwrap();
    let arguments = ["--config", file.to_str().unwrap(), "migrate"];
    let told = refused(&trunkline("sqlite://unused.db", folder.path(), &arguments, ""));
    assert!(told.contains("trunkline.toml:2: ") && !told.contains("hunter2"), "{told}");
}

#[test]
fn other_environment_variables_need_not_be_utf8() {
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str| {
        Command::new(env!("CARGO_BIN_EXE_trunkline"))
            .arg("migrate")
            .env_clear()
            .env("TRUNKLINE_DATA_DIR", folder.path())
            .env(name, OsStr::from_bytes(b"\xff"))
            .output()
            .unwrap()
    };
    succeeded(&run("SOMEBODY"));
    assert!(refused(&run("TRUNKLINE_MAIL")).contains("TRUNKLINE_MAIL must be UTF-8"));
}
