//! The secrets of an installation: from the settings, or generated at the first start and stored in the data folder,
//! readable by their owner only.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::keys::Keys;
use super::switches::{SwitchSecret, SwitchSecrets};
use crate::durable::create_folder;
use db::Entropy;

/// Secrets from the settings. The ones that are absent are generated and stored in the data folder.
#[derive(Clone, Default)]
pub struct ConfiguredSecrets {
    pub master: Option<String>,
    pub master_previous: Option<String>,
    pub jwt: Option<String>,
    pub jwt_previous: Option<String>,
    pub switch: Option<String>,
    pub switch_previous: Option<String>,
    /// Those of single edges.
    pub switches: Vec<SwitchSecret>,
    pub clock: Option<String>,
    pub bootstrap: Option<String>,
    /// What backups are sealed with.
    pub backup_passphrase: Option<String>,
}

impl fmt::Debug for ConfiguredSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConfiguredSecrets(..)")
    }
}

/// The secrets in use. Only `bootstrap` is ever printed, once, at the first start.
pub struct Secrets {
    /// The service derives all its own keys from it.
    pub master: String,
    /// Still accepted while the master secret is rotated.
    pub master_previous: Option<String>,
    pub jwt: String,
    pub jwt_previous: Option<String>,
    /// The bearer tokens of switches.
    pub switches: SwitchSecrets,
    /// The bearer token that moves the test clock.
    pub clock: Option<String>,
    pub bootstrap: String,
}

impl Secrets {
    /// The keys that are derived from the master secret.
    pub fn keys(&self) -> Keys {
        Keys::rotating(self.master.as_bytes(), self.master_previous.as_ref().map(String::as_bytes))
    }

    pub fn load(configured: &ConfiguredSecrets, data_dir: &Path) -> std::io::Result<Secrets> {
        let folder = data_dir.join("secrets");
        let secret = |configured: &Option<String>, name: &str| match configured {
            Some(secret) => Ok(secret.clone()),
            None => load_or_create(&folder, name),
        };
        let shared = |secret: String| SwitchSecret { edge: None, secret };
        let mut switches: Vec<SwitchSecret> = configured.switch_previous.clone().map(shared).into_iter().collect();
        // Where every edge has its own, none is generated for all.
        if configured.switch.is_some() || configured.switches.is_empty() {
            switches.insert(0, shared(secret(&configured.switch, "switch")?));
        }
        switches.extend(configured.switches.iter().cloned());
        Ok(Secrets {
            master: secret(&configured.master, "master")?,
            master_previous: configured.master_previous.clone(),
            jwt: secret(&configured.jwt, "jwt")?,
            jwt_previous: configured.jwt_previous.clone(),
            switches: SwitchSecrets::new(switches),
            clock: configured.clock.clone(),
            bootstrap: secret(&configured.bootstrap, "bootstrap")?,
        })
    }
}

/// The secrets that a backup holds, so that what it restores can be read, and tokens stay valid.
#[derive(Clone, Serialize, Deserialize)]
pub struct SavedSecrets {
    pub master: String,
    /// Only while the master secret is rotated.
    pub master_previous: Option<String>,
    pub jwt: Option<String>,
    pub switch: Option<String>,
    pub bootstrap: Option<String>,
}

impl SavedSecrets {
    /// The secrets of the settings and of the data folder. Unlike [`Secrets::load`] it generates none.
    pub fn read(configured: &ConfiguredSecrets, data_dir: &Path) -> std::io::Result<SavedSecrets> {
        let folder = data_dir.join("secrets");
        let secret = |configured: &Option<String>, name: &str| match configured {
            Some(secret) => Ok(Some(secret.clone())),
            None => read_stored(&folder.join(name)),
        };
        let missing = || {
            let text = format!("TRUNKLINE_MASTER_SECRET is not set, and {} has no master secret", folder.display());
            std::io::Error::new(ErrorKind::NotFound, text)
        };
        Ok(SavedSecrets {
            master: secret(&configured.master, "master")?.ok_or_else(missing)?,
            master_previous: configured.master_previous.clone(),
            jwt: secret(&configured.jwt, "jwt")?,
            switch: secret(&configured.switch, "switch")?,
            bootstrap: secret(&configured.bootstrap, "bootstrap")?,
        })
    }

    pub fn keys(&self) -> Keys {
        Keys::rotating(self.master.as_bytes(), self.master_previous.as_ref().map(String::as_bytes))
    }

    /// Writes those that the settings do not have to a new folder.
    pub fn write(&self, configured: &ConfiguredSecrets, folder: &Path) -> std::io::Result<()> {
        create_folder(folder)?;
        let unset =
            |configured: &Option<String>, secret: &Option<String>| secret.clone().filter(|_| configured.is_none());
        let stored = [
            ("master", unset(&configured.master, &Some(self.master.clone()))),
            (PREVIOUS_MASTER, unset(&configured.master_previous, &self.master_previous)),
            ("jwt", unset(&configured.jwt, &self.jwt)),
            ("switch", unset(&configured.switch, &self.switch)),
            ("bootstrap", unset(&configured.bootstrap, &self.bootstrap)),
        ];
        for (name, secret) in stored {
            if let Some(secret) = secret {
                let path = folder.join(name);
                let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
                file.write_all(secret.as_bytes())?;
                file.sync_all()?;
            }
        }
        Ok(())
    }
}

/// Whether a passphrase is long enough to seal a backup with.
pub fn is_passphrase(text: &str) -> bool {
    text.chars().count() >= 12
}

/// Where a restore puts the previous master secret, for `TRUNKLINE_MASTER_SECRET_PREVIOUS_FILE` to name.
pub const PREVIOUS_MASTER: &str = "master-previous";

fn read_stored(path: &Path) -> std::io::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(secret) => Ok(Some(secret.trim().to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(std::io::Error::new(error.kind(), format!("cannot read {}: {error}", path.display()))),
    }
}

/// The secret in this file, generated now if there is none. Two processes that start at the same time use the same one.
fn load_or_create(folder: &Path, name: &str) -> std::io::Result<String> {
    create_folder(folder)?;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
    let path = folder.join(name);
    let draft = folder.join(format!(".{name}.{}", Entropy.token()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    file.write_all(Entropy.token().as_bytes())?;
    file.sync_all()?;
    // A hard link never replaces a file: the first process to get here decides.
    let linked = std::fs::hard_link(&draft, &path);
    std::fs::remove_file(&draft)?;
    match linked {
        Ok(()) => File::open(folder)?.sync_all()?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    let secret = std::fs::read_to_string(&path)?.trim().to_owned();
    if secret.len() < 32 {
        let text = format!("{} holds fewer than 32 bytes; restore or remove it", path.display());
        return Err(std::io::Error::new(ErrorKind::InvalidData, text));
    }
    Ok(secret)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_generated_once_and_readable_by_their_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let first = Secrets::load(&ConfiguredSecrets::default(), folder.path()).unwrap();
        let second = Secrets::load(&ConfiguredSecrets::default(), folder.path()).unwrap();
        assert_eq!(first.jwt, second.jwt);
        assert_ne!(Some(first.jwt.as_str()), first.switches.any());
        for entry in std::fs::read_dir(folder.path().join("secrets")).unwrap() {
            assert_eq!(entry.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn saved_secrets_are_written_where_the_settings_have_none() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let missing = SavedSecrets::read(&ConfiguredSecrets::default(), folder.path()).err().unwrap();
        assert!(missing.to_string().contains("has no master secret"), "{missing}");
        let first = Secrets::load(&ConfiguredSecrets::default(), folder.path()).unwrap();
        let saved = SavedSecrets::read(&ConfiguredSecrets::default(), folder.path()).unwrap();
        let configured = ConfiguredSecrets { jwt: Some("of the settings".to_owned()), ..ConfiguredSecrets::default() };
        saved.write(&configured, &other.path().join("secrets")).unwrap();
        assert!(!other.path().join("secrets/jwt").exists());
        let second = Secrets::load(&ConfiguredSecrets::default(), other.path()).unwrap();
        assert_eq!((first.master, first.bootstrap), (second.master, second.bootstrap));
    }

    #[test]
    fn a_damaged_secret_is_refused_and_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        Secrets::load(&ConfiguredSecrets::default(), folder.path()).unwrap();
        std::fs::write(folder.path().join("secrets/master"), "short").unwrap();
        assert!(Secrets::load(&ConfiguredSecrets::default(), folder.path()).is_err());
    }
}
