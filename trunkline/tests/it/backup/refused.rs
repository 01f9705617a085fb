//! What is refused, and by which name.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::fs::{OFlags, fcntl_setfl};
use tempfile::TempDir;

use super::{PASSPHRASE, command, refused, run, succeeded, text};
use crate::world::engines::{TestDb, both, postgres, postgres_client, sqlite};
use crate::world::process::Process;
use crate::world::s3::files_below;

/// An installation that was started once, and a backup of it.
fn backed_up(db: &TestDb, folder: &Path, file: &Path) {
    drop(Process::serve(db, folder, &[]));
    succeeded(&run(&db.url, folder, &["backup", text(file)]));
}

both! {
    async fn only_an_empty_installation_is_restored_into(db) {
        let (folder, elsewhere) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let file = folder.path().join("monday.backup");
        backed_up(db, folder.path(), &file);

        let told = refused(&run(&db.url, folder.path(), &["restore", text(&file)]));
        assert!(told.contains(" exists: restore into an empty "), "{told}");
        // The data folder is empty, the database is not.
        let told = refused(&run(&db.url, &elsewhere.path().join("data"), &["restore", text(&file)]));
        let expected = if db.is_shared() { "the database is not empty" } else { "test.db exists" };
        assert!(told.contains(expected), "{told}");

        let (url, data) = (db.empty_beside(elsewhere.path()).await, elsewhere.path().join("data"));
        std::fs::create_dir_all(data.join("secrets")).unwrap();
        let told = refused(&run(&url, &data, &["restore", text(&file)]));
        assert!(told.contains("data/secrets exists: restore into an empty data folder"), "{told}");
        std::fs::remove_dir(data.join("secrets")).unwrap();

        // What refuses the backup leaves nothing that would be in the way of the next attempt.
        let other = [("TRUNKLINE_MASTER_SECRET", "a master secret that is another one 0123456789")];
        let told = refused(&command(&url, &data, &other, &["restore", text(&file)]).output().unwrap());
        assert!(told.contains("TRUNKLINE_MASTER_SECRET is not the master secret of the backup"), "{told}");
        let wrong = [("TRUNKLINE_BACKUP_PASSPHRASE", "another passphrase")];
        let told = refused(&command(&url, &data, &wrong, &["restore", text(&file)]).output().unwrap());
        assert!(told.contains("monday.backup: the passphrase is wrong"), "{told}");
        assert_eq!(std::fs::read_dir(&data).unwrap().count(), 0);
        succeeded(&run(&url, &data, &["restore", text(&file)]));
    }

    async fn a_target_that_cannot_be_written_is_named(db) {
        let folder = TempDir::new().unwrap();
        drop(Process::serve(db, folder.path(), &[]));
        let absent = folder.path().join("absent/monday.backup");
        let told = refused(&run(&db.url, folder.path(), &["backup", text(&absent)]));
        assert!(told.contains(&format!("cannot write {}.partial: No such file", absent.display())), "{told}");
        assert!(outcomes(db).await.is_empty(), "nothing was begun");

        let disk = folder.path().join("disk");
        std::fs::create_dir(&disk).unwrap();
        let full = disk.join("monday.backup");
        let told = refused(&on_small_disk(&disk, command(&db.url, folder.path(), &[], &["backup", text(&full)])));
        let is_named = told.contains(&format!("cannot write {}", full.display()));
        assert!(is_named && (told.contains("No space left") || told.contains("disk is full")), "{told}");
        assert_eq!(outcomes(db).await, ["success", "failure"]);

        let there = folder.path().join("there");
        std::fs::write(&there, "an older backup").unwrap();
        let told = refused(&run(&db.url, folder.path(), &["backup", text(&there)]));
        assert!(told.contains("there exists already"), "{told}");
        assert_eq!(std::fs::read_to_string(&there).unwrap(), "an older backup");
        assert_eq!(outcomes(db).await.len(), 2, "nothing was begun");
    }

    async fn an_interrupted_backup_fails_and_leaves_nothing_behind(db) {
        let (folder, shelf) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        drop(Process::serve(db, folder.path(), &[]));
        let (pipe, file) = (endless_file(folder.path()), shelf.path().join("monday.backup"));
        for signal in ["-TERM", "-INT"] {
            let mut backup = command(&db.url, folder.path(), &[], &["backup", text(&file)]);
            let mut backup = backup.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let content = open_for(&mut backup, &pipe);
            let begun = files_below(shelf.path());
            assert!(!begun.is_empty());
            for path in begun {
                assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{}", path.display());
            }
            let id = backup.id().to_string();
            assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
            write_until_closed(content);
            let told = refused(&backup.wait_with_output().unwrap());
            assert!(told.contains("the backup was interrupted"), "{told}");
            assert_eq!(files_below(shelf.path()), Vec::<PathBuf>::new());
        }
        assert_eq!(outcomes(db).await, ["success", "failure", "success", "failure"]);
    }
}

postgres! {
    async fn a_backup_that_waits_for_the_database_is_interrupted_too(db) {
        let (folder, shelf) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        drop(Process::serve(db, folder.path(), &[]));
        let blocker = postgres_client(&db.url).await;
        blocker.batch_execute("BEGIN; LOCK TABLE tickets").await.unwrap();
        let file = shelf.path().join("monday.backup");
        let mut backup = command(&db.url, folder.path(), &[], &["backup", text(&file)]);
        let backup = backup.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        db.until_one_waits().await;
        assert!(Command::new("kill").arg(backup.id().to_string()).status().unwrap().success());
        let told = refused(&backup.wait_with_output().unwrap());
        assert!(told.contains("the backup was interrupted"), "{told}");
        assert_eq!(files_below(shelf.path()), Vec::<PathBuf>::new());
        assert_eq!(outcomes(db).await, ["success", "failure"]);
    }
}

sqlite! {
    async fn nothing_is_restored_beside_the_log_of_another_database(db) {
        let (folder, elsewhere) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let file = folder.path().join("monday.backup");
        backed_up(db, folder.path(), &file);
        let (url, data) = (db.empty_beside(elsewhere.path()).await, elsewhere.path().join("data"));
        for ending in ["-wal", "-shm", "-journal"] {
            let left = elsewhere.path().join(format!("trunkline.db{ending}"));
            std::fs::write(&left, "what another database left").unwrap();
            let told = refused(&run(&url, &data, &["restore", text(&file)]));
            assert!(told.contains(&format!("{} exists: restore into an empty installation", left.display())), "{told}");
            std::fs::remove_file(&left).unwrap();
        }
        succeeded(&run(&url, &data, &["restore", text(&file)]));
    }

    async fn a_torn_or_altered_backup_is_refused_by_name(db) {
        let folder = TempDir::new().unwrap();
        let (file, damaged) = (folder.path().join("monday.backup"), folder.path().join("damaged"));
        backed_up(db, folder.path(), &file);
        let whole = std::fs::read(&file).unwrap();
        let check = |content: &[u8]| {
            std::fs::write(&damaged, content).unwrap();
            refused(&run(&db.url, folder.path(), &["restore", "--check", text(&damaged)]))
        };
        for length in [0, 40, 72, 1000, whole.len() / 2, whole.len() - 1] {
            let told = check(&whole[..length]);
            assert!(told.contains("damaged: the backup is torn: its end is missing"), "{length}: {told}");
        }
        for at in [20, 60, 1000, whole.len() / 2, whole.len() - 1] {
            let mut altered = whole.clone();
            altered[at] ^= 1;
            let told = check(&altered);
            assert!(told.contains("damaged: the backup was altered or damaged"), "{at}: {told}");
        }
        assert!(check(b"PRAGMA foreign_keys=OFF;").contains("damaged: this is not a backup of Trunkline"));
        assert!(check(&[&whole[..], b"x"].concat()).contains("altered"));
        let told = refused(&run(&db.url, folder.path(), &["restore", "--check", "absent.backup"]));
        assert!(told.contains("absent.backup: No such file"), "{told}");
        succeeded(&run(&db.url, folder.path(), &["restore", "--check", text(&file)]));
    }

    async fn a_backup_needs_the_secrets_of_the_service_and_a_passphrase(db) {
        let (folder, elsewhere) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        drop(Process::serve(db, folder.path(), &[]));
        let file = folder.path().join("monday.backup");
        let told = refused(&run(&db.url, elsewhere.path(), &["backup", text(&file)]));
        assert!(told.contains("TRUNKLINE_MASTER_SECRET is not set"), "{told}");
        assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0, "secrets were made up");
        let other = [("TRUNKLINE_MASTER_SECRET", "a master secret that is another one 0123456789")];
        let told = refused(&command(&db.url, folder.path(), &other, &["backup", text(&file)]).output().unwrap());
        assert!(told.contains("created with another master secret"), "{told}");

        let mut unset = command(&db.url, folder.path(), &[], &["backup", text(&file)]);
        let told = refused(&unset.env_remove("TRUNKLINE_BACKUP_PASSPHRASE").output().unwrap());
        assert!(told.contains("set TRUNKLINE_BACKUP_PASSPHRASE"), "{told}");
        let short = [("TRUNKLINE_BACKUP_PASSPHRASE", "short")];
        let told = refused(&command(&db.url, folder.path(), &short, &["backup", text(&file)]).output().unwrap());
        assert!(told.contains("TRUNKLINE_BACKUP_PASSPHRASE must be at least 12 characters"), "{told}");
        assert!(!file.exists());

        let secret = folder.path().join("passphrase");
        std::fs::write(&secret, format!("{PASSPHRASE}\n")).unwrap();
        let mut from_file = command(&db.url, folder.path(), &[], &["backup", text(&file)]);
        from_file.env_remove("TRUNKLINE_BACKUP_PASSPHRASE").env("TRUNKLINE_BACKUP_PASSPHRASE_FILE", &secret);
        succeeded(&from_file.output().unwrap());
        succeeded(&run(&db.url, folder.path(), &["restore", "--check", text(&file)]));
    }
}

/// Runs a command with a disk of 64 KiB mounted in this folder, in a namespace of its own.
fn on_small_disk(disk: &Path, inner: Command) -> std::process::Output {
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-euc"]);
    command.arg("mount -t tmpfs -o size=64k tmpfs \"$1\"; shift; exec \"$@\"").arg("sh").arg(disk);
    command.arg(inner.get_program()).args(inner.get_args());
    command.env_clear().envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.output().unwrap()
}

/// What the audit log says of the backups, in order.
async fn outcomes(db: &TestDb) -> Vec<String> {
    let sql = "SELECT outcome FROM audit_log WHERE action = 'backup.create' ORDER BY seq";
    let rows: Vec<(String,)> = db.read().await.unwrap().all(sql, &[]).await.unwrap();
    rows.into_iter().map(|(outcome,)| outcome).collect()
}

/// A file of the store that ends when the test wants it to: a pipe.
fn endless_file(data: &Path) -> PathBuf {
    let folder = data.join("files/ab/ab");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("ab".repeat(32));
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

/// Opens a pipe for writing as soon as the program reads it.
fn open_for(reader: &mut Child, pipe: &Path) -> File {
    loop {
        // It is refused while nobody reads.
        let opened = OpenOptions::new().write(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(pipe);
        if let Ok(pipe) = opened {
            fcntl_setfl(&pipe, OFlags::empty()).unwrap();
            return pipe;
        }
        assert_eq!(reader.try_wait().unwrap(), None, "it ended early");
        std::thread::yield_now();
    }
}

/// Writes until nobody reads any more, at most a GiB.
fn write_until_closed(mut pipe: File) {
    let piece = [0; 1 << 16];
    assert!((0..1 << 14).any(|_| pipe.write_all(&piece).is_err()), "it goes on reading");
}
