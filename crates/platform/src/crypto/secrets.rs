//! The secrets of an installation: given by settings, or made once and kept in the data folder, readable by its owner only.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::config::GivenSecrets;
use crate::entropy::Entropy;
use crate::outside::durable::create_folder;

/// Never printed whole; `bootstrap` is shown once, at the first start.
pub struct Secrets {
    /// All keys for the service's own use come from it.
    pub master: String,
    pub jwt: String,
    pub jwt_previous: Option<String>,
    /// What a switch and the operations port's guarded paths are asked for.
    pub switch: String,
    pub bootstrap: String,
}

impl Secrets {
    pub fn load(given: &GivenSecrets, data_dir: &Path, entropy: Entropy) -> std::io::Result<Secrets> {
        let folder = data_dir.join("secrets");
        let secret = |given: &Option<String>, name: &str| match given {
            Some(secret) => Ok(secret.clone()),
            None => kept(&folder, name, entropy),
        };
        Ok(Secrets {
            master: secret(&given.master, "master")?,
            jwt: secret(&given.jwt, "jwt")?,
            jwt_previous: given.jwt_previous.clone(),
            switch: secret(&given.switch, "switch")?,
            bootstrap: secret(&given.bootstrap, "bootstrap")?,
        })
    }
}

/// The secret in this file, made now if there is none. Two processes that start at once agree on one.
fn kept(folder: &Path, name: &str, entropy: Entropy) -> std::io::Result<String> {
    create_folder(folder)?;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
    let path = folder.join(name);
    let draft = folder.join(format!(".{name}.{}", entropy.token()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    file.write_all(entropy.token().as_bytes())?;
    file.sync_all()?;
    // A hard link never replaces: the first one to get here decides.
    let linked = std::fs::hard_link(&draft, &path);
    std::fs::remove_file(&draft)?;
    match linked {
        Ok(()) => File::open(folder)?.sync_all()?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    let secret = std::fs::read_to_string(&path)?.trim().to_owned();
    if secret.len() < 32 {
        let text = format!("{} holds no secret of at least 32 bytes; restore it or remove it", path.display());
        return Err(std::io::Error::new(ErrorKind::InvalidData, text));
    }
    Ok(secret)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_made_once_and_only_the_owner_may_read_them() {
        let folder = tempfile::tempdir().unwrap();
        let first = Secrets::load(&GivenSecrets::default(), folder.path(), Entropy).unwrap();
        let second = Secrets::load(&GivenSecrets::default(), folder.path(), Entropy).unwrap();
        assert_eq!(first.jwt, second.jwt);
        assert_ne!(first.jwt, first.switch);
        for entry in std::fs::read_dir(folder.path().join("secrets")).unwrap() {
            assert_eq!(entry.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_damaged_secret_is_refused_rather_than_replaced() {
        let folder = tempfile::tempdir().unwrap();
        Secrets::load(&GivenSecrets::default(), folder.path(), Entropy).unwrap();
        std::fs::write(folder.path().join("secrets/master"), "short").unwrap();
        assert!(Secrets::load(&GivenSecrets::default(), folder.path(), Entropy).is_err());
    }
}
