//! Errors of the lower layers as problems.

use super::Problem;
use crate::incoming_body::BodyError;
use db::DbError;
use platform::crypto::passwords::PasswordError;
use platform::ledger::LedgerError;
use platform::outside::files::FilesError;

impl From<DbError> for Problem {
    fn from(error: DbError) -> Self {
        match error {
            DbError::NotFound => Problem::not_found(),
            DbError::DiskFull(_) => {
                let mut problem = Problem::unavailable("The disk of the database is full. Retry later.");
                problem.0.cause = Some(Box::new(error));
                problem
            }
            DbError::Unavailable(_) | DbError::Retry | DbError::LockTimeout => {
                let mut problem = Problem::unavailable("The database is not reachable. Retry later.");
                problem.0.cause = Some(Box::new(error));
                problem
            }
            error => Problem::internal(error),
        }
    }
}

impl From<LedgerError> for Problem {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Insufficient { required, available } => Problem::balance_insufficient(required, available),
            LedgerError::Conflict { .. } | LedgerError::NoHold { .. } | LedgerError::TooLarge => {
                Problem::state_conflict(format!("The ledger rejected this: {error}."))
            }
            LedgerError::Invalid(_) => Problem::internal(error),
            LedgerError::Db(error) => error.into(),
        }
    }
}

impl From<FilesError> for Problem {
    fn from(error: FilesError) -> Self {
        match error {
            FilesError::TooLarge { limit_bytes } => {
                Problem::too_large(usize::try_from(limit_bytes).unwrap_or(usize::MAX))
            }
            FilesError::Incomplete(error) => match BodyError::inside(error.as_ref()) {
                Some(error) => error.into(),
                None => Problem::malformed("The upload was interrupted."),
            },
            FilesError::Bucket(error) if error.is_temporary() => {
                let mut problem = Problem::unavailable("The file store is not reachable. Retry later.");
                problem.0.cause = Some(Box::new(error));
                problem
            }
            error if error.is_disk_full() => {
                let mut problem = Problem::unavailable("The disk of the file store is full. Retry later.");
                problem.0.cause = Some(Box::new(error));
                problem
            }
            error => Problem::internal(error),
        }
    }
}

impl From<PasswordError> for Problem {
    fn from(error: PasswordError) -> Self {
        match error {
            PasswordError::Busy => Problem::rate_limited(1),
            PasswordError::Broken(cause) => Problem::internal(cause),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::problem::Code;

    #[test]
    fn a_full_disk_is_named_whatever_found_it_full() {
        let full_store = FilesError::Disk(io::Error::from(io::ErrorKind::StorageFull));
        for problem in [Problem::from(full_store), Problem::from(DbError::DiskFull("no room".into()))] {
            assert_eq!(problem.code(), Code::ServiceUnavailable);
            assert!(problem.detail().is_some_and(|detail| detail.contains("disk") && detail.contains("full")));
        }
        let broken_store = FilesError::Disk(io::Error::from(io::ErrorKind::PermissionDenied));
        assert_eq!(Problem::from(broken_store).code(), Code::Internal);
    }
}
