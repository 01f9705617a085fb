//! Copies what was built in `portal/dist` and writes it as an expression: `Some(Portal { … })`, or `None`.
//!
//! `tools/build-portal` holds a lock on the folder `portal` while it builds. Waiting for it, and copying, keeps half a
//! build out of the binary, and lets both builds begin at the same time.

use std::fmt::Write;
use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{env, io};

const PAGE: &str = "index.html";
const SCREENS: &str = "screens.json";

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let (portal, dist) = (root.join("portal"), root.join("portal/dist"));
    // Cargo runs this script at every build while what it watches does not exist, or is younger than the last run. Where
    // the folder cannot be created, that is what happens.
    let _ = create_old_folder(&dist);
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", dist.display());

    // Released when the script ends.
    let folder = File::open(&portal);
    if let Ok(folder) = &folder {
        folder.lock_shared()?;
    }
    let copy = out.join("dist");
    if copy.exists() {
        fs::remove_dir_all(&copy)?;
    }
    let mut names = Vec::new();
    copy_files(&dist, &copy, "", &mut names)?;
    names.sort();
    fs::write(out.join("portal.rs"), table(&copy, &names))
}

/// Creates a folder, unless it exists, that counts as older than anything else.
fn create_old_folder(path: &Path) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    fs::create_dir_all(path)?;
    File::open(path)?.set_times(FileTimes::new().set_modified(SystemTime::UNIX_EPOCH))
}

/// Copies a folder and lists its files by their paths. Names that begin with a dot are left out.
fn copy_files(from: &Path, to: &Path, path: &str, names: &mut Vec<String>) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let entries = match fs::read_dir(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name =
            entry.file_name().into_string().map_err(|name| io::Error::other(format!("{name:?} is not UTF-8")))?;
        if name.starts_with('.') {
            continue;
        }
        let (source, copy) = (entry.path(), to.join(&name));
        if entry.file_type()?.is_dir() {
            copy_files(&source, &copy, &format!("{path}{name}/"), names)?;
        } else {
            fs::copy(&source, &copy)?;
            names.push(format!("{path}{name}"));
        }
    }
    Ok(())
}

/// The table as Rust. A folder without the page or the list of screens holds no portal.
fn table(folder: &Path, names: &[String]) -> String {
    let has = |name: &str| names.iter().any(|other| other == name);
    if !has(PAGE) || !has(SCREENS) {
        if !names.is_empty() {
            println!("cargo::warning=portal/dist lacks {PAGE} or {SCREENS}, so the binary has no portal");
        }
        return "None".to_owned();
    }
    let mut text = String::from("Some(api::portal::Portal {\n    files: &[\n");
    for name in names.iter().filter(|name| !is_part_of_another(name, names) && *name != PAGE && *name != SCREENS) {
        let _ = writeln!(text, "        {},", file(folder, name, names));
    }
    let page = file(folder, PAGE, names);
    let _ = writeln!(text, "    ],\n    page: {page},\n    screens: include_str!({:?}),\n}})", folder.join(SCREENS));
    text
}

/// Whether this is the compressed form of another file.
fn is_part_of_another(name: &str, names: &[String]) -> bool {
    let plain = name.strip_suffix(".br").or_else(|| name.strip_suffix(".gz"));
    plain.is_some_and(|plain| names.iter().any(|other| other == plain))
}

fn file(folder: &Path, name: &str, names: &[String]) -> String {
    let packed = |extension: &str| {
        let name = format!("{name}.{extension}");
        let bytes = names.contains(&name).then(|| format!("Some(include_bytes!({:?}))", folder.join(name)));
        bytes.unwrap_or_else(|| "None".to_owned())
    };
    format!(
        "api::portal::File {{ path: {:?}, plain: include_bytes!({:?}), brotli: {}, gzip: {} }}",
        format!("/{name}"),
        folder.join(name),
        packed("br"),
        packed("gz")
    )
}
