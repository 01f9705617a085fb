//! Making a backup.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::archive::{ArchiveWriter, Part};
use super::named_file::{NamedFile, cannot};
use super::programs::{self, Environment};
use super::stop::Stop;
use super::{Engine, Manifest};
use crate::app::{StartError, rotation};
use crate::audit;
use crate::config::Settings;
use crate::crypto::secrets::SavedSecrets;
use crate::durable::{Draft, sync_folder};
use crate::outside::files::{ContentHash, Found, walk_folder};
use db::{Clock, Conn, Db, DbError, DbOptions, applied_migrations};
use values::Time;

/// How much earlier than its time a file may seem to have been stored, for clocks that differ.
const CLOCK_MARGIN: Duration = Duration::from_secs(10 * 60);

/// How the name of a file ends that is not complete.
const PARTIAL: &str = ".partial";

type Archive = Arc<Mutex<ArchiveWriter<Output>>>;

/// Where a backup goes. Its files have other names until it is complete; those of one that is not are deleted.
pub struct Target {
    path: PathBuf,
    draft: Draft,
    file: NamedFile,
    /// The copy of SQLite.
    copy_draft: Option<Draft>,
    /// How `pg_dump` connects, for PostgreSQL.
    environment: Option<Environment>,
}

impl Target {
    /// Refuses a file that exists, and one that cannot be written.
    pub fn begin(settings: &Settings, path: &Path) -> Result<Target, StartError> {
        let options: DbOptions = settings.database_url().parse()?;
        if path.exists() {
            return Err(format!("{} exists already", path.display()).into());
        }
        let environment = options.program_environment()?;
        let (draft, file) = begin(with_ending(path, PARTIAL))?;
        let copy_draft = if environment.is_none() { Some(begin(copy_of(path))?.0) } else { None };
        Ok(Target { path: path.to_owned(), draft, file, copy_draft, environment })
    }
}

/// Deletes what a backup to this file has written so far, before the process ends.
pub fn discard(path: &Path) {
    for draft in [with_ending(path, PARTIAL), copy_of(path)] {
        let _ = std::fs::remove_file(draft);
    }
}

/// The file of a backup, which takes nothing more once the backup has to stop.
struct Output {
    file: NamedFile,
    stop: Stop,
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stop.check()?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// What the state of the database is written to.
struct Dump {
    archive: Archive,
    /// Where SQLite is copied to; it goes into the archive from there.
    copy: PathBuf,
    /// How `pg_dump` connects, for PostgreSQL.
    environment: Option<Environment>,
    stop: Stop,
}

/// What is read in the same snapshot.
struct Facts {
    made_at: Time,
    migrations: usize,
    audit_rows: i64,
}

/// The secrets of this database, if these settings have them. It generates none.
pub async fn secrets_of(settings: &Settings, db: &Db) -> Result<SavedSecrets, StartError> {
    let secrets = SavedSecrets::read(&settings.secrets, &settings.data_dir)?;
    if rotation::is_opened_by(&mut *db.read().await?, &secrets.keys()).await? {
        return Ok(secrets);
    }
    Err("the database was created with another master secret; \
         run this with the settings and the data folder of the service"
        .into())
}

/// Writes a backup, while others write to the database and to the file store.
pub async fn create(
    settings: &Settings,
    db: &Db,
    secrets: SavedSecrets,
    target: Target,
    passphrase: &str,
    stop: &Stop,
) -> Result<Manifest, StartError> {
    let Target { path, draft, file, copy_draft, environment } = target;
    let engine = if environment.is_some() { Engine::PostgreSql } else { Engine::Sqlite };
    let output = Output { file, stop: stop.clone() };
    let mut store = Store {
        folder: settings.bucket.is_none().then(|| settings.data_dir.join("files")),
        began: Clock::system().now().minus(CLOCK_MARGIN),
        recent: BTreeSet::new(),
    };
    let passphrase = passphrase.to_owned();
    let (archive, store): (Archive, Store) = blocking(move || {
        let mut archive = ArchiveWriter::new(output, &passphrase)?;
        archive.write(Part::Secrets, &mut serde_json::to_vec(&secrets)?.as_slice())?;
        store.copy_all(&mut archive)?;
        Ok((Arc::new(Mutex::new(archive)), store))
    })
    .await?;

    let copy = copy_of(&path);
    let dump = Dump { archive: archive.clone(), copy: copy.clone(), environment, stop: stop.clone() };
    let facts = db.snapshot(dump, |conn, dump| Box::pin(dump_database(conn, dump))).await?;

    let bucket = settings.bucket.as_ref().map(|bucket| bucket.bucket.clone());
    blocking(move || {
        let archive = Arc::into_inner(archive).ok_or("the backup is still being written")?;
        let mut archive = archive.into_inner().unwrap_or_else(PoisonError::into_inner);
        if engine == Engine::Sqlite {
            archive.write(Part::Database, &mut File::open(&copy).map_err(|error| cannot("read", &copy, error))?)?;
        }
        drop(copy_draft);
        store.copy_new(&mut archive)?;
        let manifest = Manifest {
            made_at: facts.made_at.millis(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            engine,
            migrations: facts.migrations,
            audit_rows: facts.audit_rows,
            files: archive.files(),
            bucket,
        };
        let written = archive.finish(&manifest)?;
        draft.publish(written.file.file(), &path).map_err(|error| cannot("write", &path, error))?;
        sync_folder(folder_of(&path))?;
        Ok(manifest)
    })
    .await
}

fn begin(path: PathBuf) -> io::Result<(Draft, NamedFile)> {
    let (draft, file) = Draft::create(path.clone()).map_err(|error| cannot("write", &path, error))?;
    Ok((draft, NamedFile::new(file, path)))
}

/// The folder of a file, also of one that is named without it.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Where SQLite is copied to, for a backup with this path.
fn copy_of(path: &Path) -> PathBuf {
    with_ending(path, ".database.partial")
}

/// The path with these letters behind its name.
pub(super) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// The files of the store, which are copied in two passes. A bucket has no folder.
struct Store {
    folder: Option<PathBuf>,
    /// When the first pass began.
    began: Time,
    /// What it copied of the files that the second pass looks for.
    recent: BTreeSet<ContentHash>,
}

impl Store {
    fn copy_all(&mut self, archive: &mut ArchiveWriter<Output>) -> io::Result<()> {
        let Store { folder: Some(folder), began, recent } = self else { return Ok(()) };
        walk_folder(folder, &mut |found| {
            if found.stored_at >= *began {
                recent.insert(found.hash);
            }
            copy_file(archive, &found)
        })
    }

    /// Copies what was stored since.
    fn copy_new(&self, archive: &mut ArchiveWriter<Output>) -> io::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        walk_folder(folder, &mut |found| {
            let is_new = found.stored_at >= self.began && !self.recent.contains(&found.hash);
            if is_new { copy_file(archive, &found) } else { Ok(()) }
        })
    }
}

fn copy_file(archive: &mut ArchiveWriter<Output>, found: &Found) -> io::Result<()> {
    match File::open(&found.path) {
        Ok(mut file) => archive.write(Part::File(found.hash), &mut file),
        // It was deleted since the folder was listed.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(cannot("read", &found.path, error)),
    }
}

async fn dump_database(conn: &mut Conn, dump: &Dump) -> Result<Facts, StartError> {
    let facts = Facts {
        made_at: conn.now(),
        migrations: usize::try_from(applied_migrations(conn).await?)?,
        audit_rows: audit::head(conn).await?.0,
    };
    let Some(environment) = dump.environment.clone() else {
        conn.copy_to(&dump.copy).map_err(|error| match error {
            DbError::DiskFull(_) => format!("cannot write {}: the disk is full", dump.copy.display()),
            error => format!("cannot copy the database to {}: {error}", dump.copy.display()),
        })?;
        return Ok(facts);
    };
    let (snapshot, archive, stop) = (conn.export_snapshot().await?, dump.archive.clone(), dump.stop.clone());
    blocking(move || {
        let mut archive = archive.lock().unwrap_or_else(PoisonError::into_inner);
        programs::dump(&environment, &snapshot, &stop, |dump| archive.write(Part::Database, dump))
    })
    .await?;
    Ok(facts)
}

/// Runs what waits for disks and programs on a thread of its own.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StartError> + Send + 'static,
) -> Result<T, StartError> {
    tokio::task::spawn_blocking(work).await?
}
