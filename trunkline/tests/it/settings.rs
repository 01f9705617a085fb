//! `trunkline config`, and what is written from the table of settings.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Output};

use platform::config;

/// Runs `trunkline config` with these variables and nothing else of our environment.
fn run(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
    command.args(arguments).env_clear().envs(environment.iter().copied()).output().unwrap()
}

fn printed(output: &Output) -> (bool, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.success(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_settings_page_and_the_example_file_are_those_of_the_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (file, text) in [("docs/settings.md", config::page()), ("trunkline.example.toml", config::example_file())] {
        let path = root.join(file);
        if std::env::var_os("TRUNKLINE_WRITE_SETTINGS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let kept = std::fs::read_to_string(path).unwrap_or_default();
        assert!(kept == text, "{file} is stale: run `make settings` and commit the result");
    }
}

#[test]
fn config_check_reports_every_fault_with_its_line_and_succeeds_without() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trunkline.toml");
    let path = file.to_str().unwrap();
    let check = ["--config", path, "config", "check"];
    std::fs::write(&file, "TRUNKLINE_LOG = \"loud\"\n\nTRUNKLINE_CONNECTIONS = 1\nTRUNKLINE_LISTNE = \"x\"\n").unwrap();
    let (is_good, _, errors) = printed(&run(&check, &[("TRUNKLINE_MAIL", "pigeon")]));
    assert!(!is_good);
    for fault in [
        format!("{path}:1: TRUNKLINE_LOG must be human or json"),
        format!("{path}:3: TRUNKLINE_CONNECTIONS must be a number from 16 to 1000000"),
        format!("{path}:4: TRUNKLINE_LISTNE is not a setting"),
        "TRUNKLINE_MAIL must be file, smtp://user:password@host:port".to_owned(),
    ] {
        assert!(errors.contains(&fault), "{fault} is missing:\n{errors}");
    }

    std::fs::write(&file, config::example_file()).unwrap();
    let (is_good, words, errors) = printed(&run(&check, &[("TRUNKLINE_OTHER", "1")]));
    assert!(is_good, "{errors}");
    assert_eq!(words, "The settings are valid.\n");
    assert!(errors.contains("TRUNKLINE_OTHER in the environment is not a setting"), "{errors}");
}

#[test]
fn config_check_refuses_what_serve_would_refuse() {
    let names =
        [("TRUNKLINE_MAIL", "smtp://h:99999"), ("TRUNKLINE_MAIL_FROM", "not a mail"), ("TRUNKLINE_LOG_FILTER", "===")];
    let (is_good, _, errors) = printed(&run(&["config", "check"], &names));
    assert!(!is_good);
    for (name, _) in names {
        assert!(errors.contains(&format!("\n  {name} must be ")), "{name} is missing:\n{errors}");
    }
}

#[test]
fn an_empty_file_of_a_secret_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let (empty, blank) = (folder.path().join("empty"), folder.path().join("blank"));
    std::fs::write(&empty, "").unwrap();
    std::fs::write(&blank, " \n\n").unwrap();
    for name in ["TRUNKLINE_DATABASE_URL", "TRUNKLINE_MASTER_SECRET", "TRUNKLINE_MAIL"] {
        for file in [&empty, &blank] {
            let (name, path) = (format!("{name}_FILE"), file.to_str().unwrap());
            // With a data folder where nothing can be created, should it start after all.
            let names = [(name.as_str(), path), ("TRUNKLINE_DATA_DIR", path)];
            for arguments in [&["config", "check"][..], &["config", "show"], &["serve"]] {
                let (is_good, _, errors) = printed(&run(arguments, &names));
                assert!(!is_good && errors.contains(&format!("{name}: {path}: the file is empty")), "{errors}");
            }
        }
    }
}

#[test]
fn config_check_refuses_a_replica_of_a_sqlite_database() {
    let replica = ("TRUNKLINE_DATABASE_READ_URL", "postgres://trunkline@db2.internal/trunkline");
    let (is_good, _, errors) = printed(&run(&["config", "check"], &[replica]));
    assert!(!is_good && errors.contains("SQLite has no replicas"), "{errors}");
    let primary = ("TRUNKLINE_DATABASE_URL", "postgres://trunkline@db1.internal/trunkline");
    let (is_good, _, errors) = printed(&run(&["config", "check"], &[replica, primary]));
    assert!(is_good, "{errors}");
}

#[test]
fn config_show_names_the_source_of_each_value_and_hides_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let (file, secret) = (folder.path().join("trunkline.toml"), folder.path().join("jwt"));
    std::fs::write(&file, "\nTRUNKLINE_LISTEN = \"localhost:8081\"\nTRUNKLINE_LOG = \"json\"\n").unwrap();
    std::fs::write(&secret, "the-secret-of-the-house-0123456789\n").unwrap();
    let environment = [("TRUNKLINE_LOG", "human"), ("TRUNKLINE_JWT_SECRET_FILE", secret.to_str().unwrap())];
    let shown = run(&["--config", file.to_str().unwrap(), "config", "show"], &environment);
    let (is_good, shown, errors) = printed(&shown);
    assert!(is_good, "{errors}");
    let has = |name: &str, rest: &str| shown.lines().any(|line| line.starts_with(name) && line.ends_with(rest));
    assert!(has("TRUNKLINE_LISTEN ", &format!("localhost:8081  [{}:2]", file.display())), "{shown}");
    assert!(has("TRUNKLINE_LOG ", "human  [environment]"), "{shown}");
    assert!(has("TRUNKLINE_JWT_SECRET ", "(hidden)  [environment]"), "{shown}");
    assert!(has("TRUNKLINE_OPS_LISTEN ", "127.0.0.1:9090  [default]"), "{shown}");
    assert!(!shown.contains("the-secret"));
}

#[test]
fn variables_of_opentelemetry_are_settings_and_unknown_ones_are_ignored() {
    let names = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:hunter2@collector:4318"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=hunter2"),
        ("OTEL_METRICS_EXPORTER", "none"),
    ];
    let (is_good, shown, errors) = printed(&run(&["config", "show"], &names));
    assert!(is_good, "{errors}");
    let has = |name: &str, rest: &str| shown.lines().any(|line| line.starts_with(name) && line.ends_with(rest));
    assert!(has("OTEL_EXPORTER_OTLP_ENDPOINT ", "http://(hidden)@collector:4318  [environment]"), "{shown}");
    assert!(has("OTEL_EXPORTER_OTLP_HEADERS ", "(hidden)  [environment]"), "{shown}");
    let (is_good, said, errors) = printed(&run(&["config", "check"], &names));
    assert_eq!((is_good, said.as_str(), errors.as_str()), (true, "The settings are valid.\n", ""));
    let wrong = [("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317")];
    let (is_good, _, errors) = printed(&run(&["config", "check"], &wrong));
    assert!(is_good, "{errors}");
    assert_eq!(errors, "trunkline: OTEL_EXPORTER_OTLP_ENDPOINT is ignored: it must be an http(s) URL\n");
}

#[test]
fn the_help_of_serve_lists_every_setting() {
    let (is_good, help, _) = printed(&run(&["serve", "--help"], &[]));
    assert!(is_good);
    for name in ["TRUNKLINE_LISTEN [127.0.0.1:8080]", "TRUNKLINE_JWT_SECRET [generated]", "TRUNKLINE_API_KEY [none]"] {
        assert!(help.contains(name), "{name} is missing:\n{help}");
    }
}
