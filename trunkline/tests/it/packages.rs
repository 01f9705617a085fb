//! What is shipped: the package and its units, the manifests, manual pages and completions, and every script.
//!
//! `make package-test` goes further and installs the package in a clean Debian (`tools/try-package`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::world::engines::sqlite;
use crate::world::process::{self, Process};

const UNITS: [&str; 3] = ["trunkline.service", "trunkline-edge.service", "trunkline-edge-sync.service"];
/// The highest exposure that `systemd-analyze security` may find in a unit, in tenths.
const MOST_EXPOSURE: &str = "--threshold=20";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// What a program printed; it must succeed.
#[track_caller]
fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; run make test"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}:\n{out}\n{err}");
    out.trim().to_owned()
}

fn trunkline(arguments: &[&str]) -> String {
    printed(Command::new(env!("CARGO_BIN_EXE_trunkline")).env_clear().args(arguments))
}

/// Builds the packages into a folder and returns the `.deb`.
fn package_into(folder: &Path) -> PathBuf {
    let manual = tempfile::tempdir().unwrap();
    std::fs::create_dir(manual.path().join("css")).unwrap();
    for page in ["index.html", "css/general.css"] {
        std::fs::write(manual.path().join(page), "<html>").unwrap();
    }
    let mut build = Command::new(root().join("deploy/package/build"));
    build.args(["--fast", "--manual"]).arg(manual.path()).arg("--out").arg(folder).arg(env!("CARGO_BIN_EXE_trunkline"));
    PathBuf::from(printed(&mut build))
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn the_package_has_what_an_installation_needs_and_comes_out_alike_twice() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    let package = package_into(&first);
    package_into(&second);
    let sums = |folder: &Path| std::fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    assert_eq!(sums(&first), sums(&second), "two builds of one program differ");
    assert_eq!(sums(&first).lines().count(), 3, "{}", sums(&first));

    let tree = folder.path().join("tree");
    printed(Command::new("dpkg-deb").arg("--extract").arg(&package).arg(&tree));
    for path in [
        "usr/bin/trunkline",
        "usr/lib/trunkline/kamailio/run",
        "usr/lib/trunkline/kamailio/kamailio.cfg",
        "usr/share/bash-completion/completions/trunkline",
        "usr/share/zsh/vendor-completions/_trunkline",
        "usr/share/fish/vendor_completions.d/trunkline.fish",
        "usr/share/man/man1/trunkline.1.gz",
        "usr/share/doc/trunkline/install.md",
        "usr/share/trunkline/manual/index.html",
        "usr/share/trunkline/manual/css/general.css",
        "usr/share/doc/trunkline/changelog.gz",
        "usr/share/doc/trunkline/copyright",
        "usr/share/doc/trunkline/sbom.cdx.json",
    ] {
        assert!(tree.join(path).is_file(), "the package lacks {path}");
    }
    let settings = tree.join("etc/trunkline/trunkline.toml");
    assert!(trunkline(&["--config", settings.to_str().unwrap(), "config", "check"]).contains("valid"));
    let shown = trunkline(&["--config", settings.to_str().unwrap(), "config", "show"]);
    assert!(shown.contains("/var/lib/trunkline  ["), "{shown}");
    assert!(shown.contains("/usr/share/trunkline/manual  ["), "{shown}");

    let field = |name: &str| printed(Command::new("dpkg-deb").arg("--field").arg(&package).arg(name));
    assert_eq!(field("Version"), env!("CARGO_PKG_VERSION"));
    assert!(field("Depends").contains("libc6 (>="), "{}", field("Depends"));
    let control = folder.path().join("control");
    printed(Command::new("dpkg-deb").arg("--control").arg(&package).arg(&control));
    let conffiles = std::fs::read_to_string(control.join("conffiles")).unwrap();
    assert_eq!(conffiles, "/etc/trunkline/edge.env\n/etc/trunkline/trunkline.toml\n");

    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--man=no", "--recursive-errors=no"]).arg(format!("--root={}", tree.display()));
    let verdict = verify.args(UNITS).output().expect("systemd-analyze is there: run make test");
    // An unknown key is a warning only.
    let words = String::from_utf8_lossy(&verdict.stderr);
    assert!(verdict.status.success() && words.is_empty(), "{words}");
}

#[test]
fn the_units_are_hardened() {
    for unit in UNITS {
        let mut analyze = Command::new("systemd-analyze");
        analyze.args(["security", "--no-pager", "--offline=true", MOST_EXPOSURE]);
        printed(analyze.arg(root().join("deploy/package/systemd").join(unit)));
    }
}

#[test]
fn every_command_has_a_manual_page_and_is_completed_in_shells() {
    let folder = tempfile::tempdir().unwrap();
    trunkline(&["man", "--out", folder.path().to_str().unwrap()]);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    let has = |page: &str, text: &str| assert!(read(page).replace('\\', "").contains(text), "{page} lacks {text}");
    has("trunkline.1", "trunkline-doctor(1)");
    has("trunkline-config-check.1", "Report every fault");
    has("trunkline-serve.1", "TRUNKLINE_LISTEN");

    for shell in ["bash", "zsh", "fish"] {
        let script = trunkline(&["completions", shell]);
        assert!(script.contains("bootstrap") && script.contains("forward-to"), "{shell}: {script}");
    }
    let script = folder.path().join("trunkline.bash");
    std::fs::write(&script, trunkline(&["completions", "bash"])).unwrap();
    printed(Command::new("bash").arg("-n").arg(script));
}

#[test]
fn shellcheck_finds_nothing_in_the_scripts() {
    let root = root();
    let listed = printed(Command::new("git").args(["ls-files"]).current_dir(&root));
    let is_script = |path: &&str| {
        let text = std::fs::read(root.join(path)).unwrap_or_default();
        text.starts_with(b"#!/usr/bin/env bash\n") || text.starts_with(b"#!/bin/sh\n")
    };
    let scripts: Vec<&str> = listed.lines().filter(is_script).collect();
    assert!(scripts.contains(&"deploy/package/debian/postinst") && scripts.contains(&".ci/run"), "{scripts:?}");
    printed(Command::new("shellcheck").args(["--severity=warning"]).args(scripts).current_dir(&root));
}

#[test]
fn the_manifests_fit_their_schemas_and_have_valid_settings() {
    let tools = root().join("target/deploy-tools/bin");
    let manifests = files_in(&root().join("deploy/kubernetes"));
    assert!(manifests.len() > 5, "{manifests:?}");
    // The oldest version that its makers still maintain when this was written.
    let mut check = Command::new(tools.join("kubernetes-validate"));
    printed(check.args(["--strict", "--quiet", "--kubernetes-version", "1.34"]).args(&manifests));
    let mut check = Command::new(tools.join("check-jsonschema"));
    printed(check.args(["--builtin-schema", "vendor.compose-spec"]).arg(root().join("deploy/compose.yaml")));

    let mut check = Command::new("caddy");
    printed(check.args(["adapt", "--config"]).arg(root().join("deploy/caddy/Caddyfile")));

    // The settings with secrets of the right form in place of those in the cluster.
    let folder = tempfile::tempdir().unwrap();
    let manifest = std::fs::read_to_string(root().join("deploy/kubernetes/settings.yaml")).unwrap();
    let lines = manifest.lines().skip_while(|line| *line != "  trunkline.toml: |").skip(1);
    let settings: String = lines.map(|line| format!("{}\n", line.trim_start())).collect();
    let settings = settings.replace("/run/secrets/trunkline", folder.path().to_str().unwrap());
    let secret = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    for (name, text) in [
        ("database-url", "postgres://trunkline@db.internal/trunkline"),
        ("mail", "smtps://mail.operator.example"),
        ("master", secret),
        ("jwt", secret),
        ("switch", secret),
        ("bootstrap", secret),
        ("s3-secret", "s3"),
        ("revolut-key", secret),
        ("revolut-webhook-secret", secret),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
        let example = std::fs::read_to_string(root().join("deploy/kubernetes/secret.yaml.example")).unwrap();
        assert!(example.contains(&format!("\n  {name}: ")), "secret.yaml.example lacks {name}");
    }
    let file = folder.path().join("trunkline.toml");
    std::fs::write(&file, settings).unwrap();
    trunkline(&["--config", file.to_str().unwrap(), "config", "check"]);
}

fn heard(systemd: &UnixDatagram) -> String {
    let mut state = [0; 64];
    let length = systemd.recv(&mut state).unwrap();
    String::from_utf8_lossy(&state[..length]).into_owned()
}

sqlite! {
    async fn systemd_learns_that_the_service_is_ready_and_that_it_stops(db) {
        let folder = tempfile::tempdir().unwrap();
        let (socket, data) = (folder.path().join("notify"), folder.path().join("data"));
        let systemd = UnixDatagram::bind(&socket).unwrap();
        systemd.set_read_timeout(Some(Duration::from_secs(60))).unwrap();

        let settings = [("NOTIFY_SOCKET", socket.to_str().unwrap()), ("TRUNKLINE_DRAIN_SECONDS", "0")];
        let service = Process::serve(db, &data, &settings);
        assert_eq!(heard(&systemd), "READY=1");
        let ready = |ops: &str| process::run(db, &data, &[("TRUNKLINE_OPS_LISTEN", ops)], &["ready"]).status.success();
        assert!(ready(service.ops_address()));
        assert!(!ready("127.0.0.1:1"));

        service.terminate();
        assert_eq!(heard(&systemd), "STOPPING=1");
    }
}
