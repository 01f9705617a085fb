//! Reading a backup, and putting it into an empty installation.
//!
//! Everything is read and verified before anything counts: files go to folders and names that end in `.partial` and get
//! their own names at the end. A PostgreSQL database is restored in one transaction, in a second reading.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::archive::{ArchiveReader, Part};
use super::create::{blocking, with_ending};
use super::named_file::{NamedFile, cannot};
use super::programs::{self, Environment};
use super::{Engine, Manifest};
use crate::app::{StartError, open_database};
use crate::config::Settings;
use crate::crypto::secrets::{ConfiguredSecrets, SavedSecrets};
use crate::durable::create_folder;
use crate::outside::files::path_in_folder;
use db::{Clock, DbOptions, Location, MIGRATIONS};

/// The folder inside the data folder that everything but the database is restored to first.
const STAGE: &str = "restore.partial";

/// What was restored.
pub struct Restored {
    pub manifest: Manifest,
    pub secrets: SavedSecrets,
}

/// Reads a backup to its end without restoring it.
pub async fn check(file: &Path, passphrase: &str) -> Result<Manifest, StartError> {
    let (file, passphrase) = (file.to_owned(), passphrase.to_owned());
    blocking(move || Ok(read(&file, &passphrase, &Places::nowhere())?.manifest)).await
}

/// Restores a backup. The data folder and the database must be empty.
pub async fn restore(settings: &Settings, file: &Path, passphrase: &str) -> Result<Restored, StartError> {
    let options: DbOptions = settings.database_url().parse()?;
    let environment = options.program_environment()?;
    let database = match &options.location {
        Location::Sqlite(path) => Some(path.clone()),
        Location::Postgres(_) => None,
    };
    require_empty(&settings.data_dir, database.as_deref())?;
    if database.is_none() && !open_database(settings, &Clock::system()).await?.is_empty().await? {
        return Err("the database is not empty: restore into a new one".into());
    }
    let (file, passphrase) = (file.to_owned(), passphrase.to_owned());
    let (data_dir, configured) = (settings.data_dir.clone(), settings.secrets.clone());
    blocking(move || {
        let stage = data_dir.join(STAGE);
        let places = Places { files: Some(stage.join("files")), database: database.as_deref().map(partial) };
        let outcome = stage_and_publish(&file, &passphrase, &places, environment, &configured, &data_dir);
        // If it failed, nothing there is of use any more.
        let removed = remove_folder(&stage);
        if let (Err(_), Some(database)) = (&outcome, &places.database) {
            let _ = fs::remove_file(database);
        }
        let restored = outcome?;
        removed?;
        Ok(restored)
    })
    .await
}

/// Where the parts of a backup go; those without a place are only verified.
struct Places {
    files: Option<PathBuf>,
    database: Option<PathBuf>,
}

impl Places {
    fn nowhere() -> Places {
        Places { files: None, database: None }
    }
}

fn stage_and_publish(
    file: &Path,
    passphrase: &str,
    places: &Places,
    environment: Option<Environment>,
    configured: &ConfiguredSecrets,
    data_dir: &Path,
) -> Result<Restored, StartError> {
    let stage = data_dir.join(STAGE);
    remove_folder(&stage)?;
    create_folder(&stage)?;
    let restored = read(file, passphrase, places)?;
    refuse_unfit(&restored, environment.is_some(), configured)?;
    restored.secrets.write(configured, &stage.join("secrets"))?;
    rustix::fs::syncfs(File::open(&stage)?).map_err(io::Error::from)?;
    if let Some(environment) = environment {
        restore_dump(file, passphrase, &environment)?;
    }
    for name in ["files", "secrets"] {
        if stage.join(name).exists() {
            fs::rename(stage.join(name), data_dir.join(name))?;
        }
    }
    if let Some(staged) = &places.database {
        let path = staged.with_extension("");
        File::open(staged)?.sync_all()?;
        fs::rename(staged, path)?;
    }
    rustix::fs::syncfs(File::open(data_dir)?).map_err(io::Error::from)?;
    Ok(restored)
}

/// Reads all parts, and writes them to their places.
fn read(file: &Path, passphrase: &str, places: &Places) -> Result<Restored, StartError> {
    let named = |error: io::Error| format!("{}: {error}", file.display());
    let mut archive = open(file, passphrase).map_err(named)?;
    let (mut secrets, mut manifest, mut has_database) = (None, None, false);
    while let Some(part) = archive.next_part().map_err(named)? {
        match part {
            Part::Secrets => secrets = Some(archive.read_json::<SavedSecrets>().map_err(named)?),
            Part::Manifest => manifest = Some(archive.read_json::<Manifest>().map_err(named)?),
            Part::Database => {
                has_database = true;
                if let Some(path) = &places.database {
                    write(&mut archive, path).map_err(named)?;
                }
            }
            Part::File(hash) => {
                if let Some(folder) = &places.files {
                    write(&mut archive, &path_in_folder(folder, &hash)).map_err(named)?;
                }
            }
        }
    }
    match (secrets, manifest) {
        (Some(secrets), Some(manifest)) if has_database => Ok(Restored { manifest, secrets }),
        _ => Err(format!("{}: the backup lacks its database or its secrets", file.display()).into()),
    }
}

fn open(file: &Path, passphrase: &str) -> io::Result<ArchiveReader<File>> {
    ArchiveReader::new(File::open(file)?, passphrase)
}

/// Writes the part to a file, and replaces the one that the same backup may have had before.
fn write(archive: &mut ArchiveReader<File>, path: &Path) -> io::Result<()> {
    let unwritable = |error: io::Error| cannot("write", path, error);
    if let Some(folder) = path.parent() {
        create_folder(folder).map_err(unwritable)?;
    }
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    let mut file = NamedFile::new(file.map_err(unwritable)?, path.to_owned());
    io::copy(archive, &mut file).map(drop)
}

fn restore_dump(file: &Path, passphrase: &str, environment: &Environment) -> Result<(), StartError> {
    let mut archive = open(file, passphrase)?;
    while let Some(part) = archive.next_part()? {
        if part == Part::Database {
            return programs::restore(environment, &mut archive);
        }
    }
    Ok(())
}

/// Refuses a backup that these settings or this version cannot use.
fn refuse_unfit(restored: &Restored, is_postgres: bool, configured: &ConfiguredSecrets) -> Result<(), StartError> {
    let Restored { manifest, secrets } = restored;
    let engine = if is_postgres { Engine::PostgreSql } else { Engine::Sqlite };
    if manifest.engine != engine {
        let (theirs, ours) = (manifest.engine.name(), engine.name());
        let text = format!("the backup is of a {theirs} database, and TRUNKLINE_DATABASE_URL names one of {ours}");
        return Err(text.into());
    }
    if manifest.migrations > MIGRATIONS.len() {
        let text = format!("the backup was made by version {}, which is newer than this one", manifest.version);
        return Err(text.into());
    }
    if configured.master.as_ref().is_some_and(|master| *master != secrets.master) {
        return Err("TRUNKLINE_MASTER_SECRET is not the master secret of the backup: unset it, or set that one".into());
    }
    Ok(())
}

/// How the names of SQLite's files end. A log that was left would be replayed into the database that is restored.
const OF_SQLITE: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// Refuses an installation that has something already, other than what a restore left that failed.
fn require_empty(data_dir: &Path, database: Option<&Path>) -> Result<(), StartError> {
    let mut of_sqlite = database.into_iter().flat_map(|path| OF_SQLITE.map(|ending| with_ending(path, ending)));
    if let Some(found) = of_sqlite.find(|path| path.exists()) {
        return Err(format!("{} exists: restore into an empty installation", found.display()).into());
    }
    let left = database.map(partial);
    let entries = match fs::read_dir(data_dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(cannot("read", data_dir, error).into()),
    };
    for entry in entries {
        let path = entry?.path();
        if path != data_dir.join(STAGE) && Some(&path) != left.as_ref() {
            return Err(format!("{} exists: restore into an empty data folder", path.display()).into());
        }
    }
    Ok(())
}

/// The name of a database that is not complete yet; `with_extension("")` leads back.
fn partial(path: &Path) -> PathBuf {
    with_ending(path, ".partial")
}

fn remove_folder(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}
