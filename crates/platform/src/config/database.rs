//! Settings of the standby that lists and reports read from.

use db::ReplicaOptions;

use super::reader::SettingsReader;

pub(super) fn is_database_url(text: &str) -> bool {
    text.starts_with("sqlite://") || is_postgres_url(text)
}

fn is_postgres_url(text: &str) -> bool {
    ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme))
}

impl SettingsReader {
    /// SQLite has no standby.
    pub(super) fn read_replica(&mut self, database_url: Option<&str>) -> Option<ReplicaOptions> {
        let name = "TRUNKLINE_DATABASE_READ_URL";
        let max_lag = self.seconds("TRUNKLINE_DATABASE_READ_LAG_SECONDS", 1..=3600, 10);
        let url = self.checked(name, "postgres://…", is_postgres_url)?;
        if !database_url.is_some_and(is_postgres_url) {
            self.wrong(name, "left out unless TRUNKLINE_DATABASE_URL is postgres://…: SQLite has no replicas");
        }
        Some(ReplicaOptions { url, max_lag })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use crate::config::{ConfigError, Settings};

    const PRIMARY: (&str, &str) = ("TRUNKLINE_DATABASE_URL", "postgres://db1/trunkline");
    const REPLICA: (&str, &str) = ("TRUNKLINE_DATABASE_READ_URL", "postgres://trunk:hunter2@db2/trunkline");

    fn settings(names: &[(&str, &str)]) -> Result<Settings, ConfigError> {
        let names = names.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Settings::from_names(names, BTreeMap::new())
    }

    #[test]
    fn a_replica_may_be_ten_seconds_behind_and_its_password_is_not_printed() {
        let replica = settings(&[PRIMARY, REPLICA]).unwrap().read_replica.unwrap();
        assert_eq!((replica.url.as_str(), replica.max_lag), (REPLICA.1, Duration::from_secs(10)));
        assert!(!format!("{replica:?}").contains("hunter2"));
        let lag = ("TRUNKLINE_DATABASE_READ_LAG_SECONDS", "3");
        let replica = settings(&[PRIMARY, REPLICA, lag]).unwrap().read_replica.unwrap();
        assert_eq!(replica.max_lag, Duration::from_secs(3));
        assert!(settings(&[PRIMARY]).unwrap().read_replica.is_none());
    }

    #[test]
    fn a_replica_needs_postgresql() {
        let sqlite = ("TRUNKLINE_DATABASE_URL", "sqlite://data/trunkline.db");
        for names in [vec![REPLICA], vec![sqlite, REPLICA]] {
            let error = settings(&names).unwrap_err();
            let expected = "TRUNKLINE_DATABASE_READ_URL must be left out unless TRUNKLINE_DATABASE_URL is \
                            postgres://…: SQLite has no replicas";
            assert_eq!(error.0, [expected]);
        }
        assert!(settings(&[PRIMARY, ("TRUNKLINE_DATABASE_READ_URL", "sqlite://copy.db")]).is_err());
    }
}
