//! Stored files, addressed by the hash of their content: the same tests on a folder and on a bucket.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use db::Clock;
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use platform::outside::files::{ContentHash, Files, FilesError};
use tempfile::TempDir;
use values::Time;

use crate::world::s3::{S3Server, age, file_keys, files_below};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A store, and where one can look behind it.
struct Shelf {
    files: Files,
    local: TempDir,
    server: Option<S3Server>,
}

impl Shelf {
    async fn folder() -> Shelf {
        let local = tempfile::tempdir().unwrap();
        let files = Files::in_folder(local.path(), &file_keys(), Clock::system().now()).unwrap();
        Shelf { files, local, server: None }
    }

    async fn bucket() -> Shelf {
        let (local, server) = (tempfile::tempdir().unwrap(), S3Server::start().await);
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let now = Clock::system().now();
        let files = Files::in_bucket(&server.bucket(), http, local.path(), &file_keys(), now).await.unwrap();
        Shelf { files, local, server: Some(server) }
    }

    /// Where the stored files are.
    fn place(&self) -> PathBuf {
        self.server.as_ref().map_or_else(|| self.local.path().to_owned(), S3Server::objects)
    }

    /// The names of all that is stored, or still lies around elsewhere.
    fn names(&self) -> Vec<String> {
        let mut paths = files_below(self.local.path());
        if let Some(server) = &self.server {
            paths.extend(files_below(&server.objects()));
        }
        paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
    }

    async fn content(&self, hash: &ContentHash) -> Option<(u64, Vec<u8>)> {
        let (size_bytes, pieces) = self.files.open_read(hash).await.unwrap()?;
        Some((size_bytes, pieces.try_collect::<Vec<_>>().await.unwrap().concat()))
    }
}

/// Declares tests that run on both kinds of store, in modules `folder` and `bucket`.
macro_rules! every_store {
    ($(async fn $name:ident($shelf:ident) $body:block)*) => {
        $(async fn $name($shelf: super::Shelf) $body)*

        every_store!(@run folder $($name)*);
        every_store!(@run bucket $($name)*);
    };
    (@run $store:ident $($name:ident)*) => {
        mod $store {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $name() {
                    super::$name(super::super::Shelf::$store().await).await;
                }
            )*
        }
    };
}

fn body(pieces: &[&'static str]) -> impl Stream<Item = Result<Bytes, io::Error>> + use<> {
    stream::iter(pieces.iter().map(|piece| Ok(Bytes::from_static(piece.as_bytes()))).collect::<Vec<_>>())
}

mod every {
    use super::*;

    every_store! {
        async fn content_stored_twice_is_one_file_under_its_hash(shelf) {
            let first = shelf.files.put(body(&["hello ", "world"]), 11).await.unwrap();
            let second = shelf.files.put(body(&["hello world"]), 11).await.unwrap();
            assert_eq!(first, second);
            assert_eq!(first.size_bytes, 11);
            let hex = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9";
            assert_eq!(first.hash.to_string(), hex);
            assert_eq!(ContentHash::parse(hex), Some(first.hash));
            assert_eq!(shelf.names(), [hex]);
            assert_eq!(shelf.content(&first.hash).await, Some((11, b"hello world".to_vec())));
            assert!(shelf.files.exists(&first.hash).await.unwrap());
        }

        async fn nothing_is_stored_in_clear_text(shelf) {
            let secret = "the passport of a director";
            let received = shelf.files.receive(body(&[secret]), 100).await.unwrap();
            let draft = fs::read(&files_below(&shelf.local.path().join("incoming"))[0]).unwrap();
            let hash = received.store().await.unwrap().hash;
            let path = files_below(&shelf.place()).into_iter().find(|path| path.ends_with(hash.to_string())).unwrap();
            for bytes in [draft, fs::read(&path).unwrap()] {
                assert!(!bytes.windows(8).any(|window| window == &secret.as_bytes()[..8]));
            }
            assert_eq!(shelf.content(&hash).await, Some((secret.len() as u64, secret.as_bytes().to_vec())));
            // Another file's bytes under this name are not served.
            let other = shelf.files.put(body(&["another"]), 100).await.unwrap().hash;
            let other = files_below(&shelf.place()).into_iter().find(|path| path.ends_with(other.to_string())).unwrap();
            fs::copy(&other, &path).unwrap();
            let (_, pieces) = shelf.files.open_read(&hash).await.unwrap().unwrap();
            let error = pieces.try_collect::<Vec<_>>().await.unwrap_err();
            assert!(error.to_string().contains("was altered"), "{error}");
        }

        async fn a_file_of_many_pieces_is_read_back_whole(shelf) {
            let piece: Vec<u8> = (0..1 << 20).map(|n: u32| n as u8).collect();
            let pieces: Vec<_> = (0..16).map(|_| Ok::<_, io::Error>(Bytes::from(piece.clone()))).collect();
            let stored = shelf.files.put(stream::iter(pieces), 16 << 20).await.unwrap();
            let (size_bytes, content) = shelf.content(&stored.hash).await.unwrap();
            assert_eq!(size_bytes, 16 << 20);
            assert!(content == piece.repeat(16));
        }

        async fn an_empty_file_is_a_file(shelf) {
            let stored = shelf.files.put(body(&[]), 0).await.unwrap();
            assert_eq!(shelf.content(&stored.hash).await, Some((0, Vec::new())));
        }

        async fn the_same_content_stored_concurrently_is_one_file(shelf) {
            let uploads = (0..32).map(|_| shelf.files.put(body(&["same"]), 100));
            let stored = futures_util::future::try_join_all(uploads).await.unwrap();
            assert!(stored.iter().all(|one| one == &stored[0]));
            assert_eq!(shelf.names().len(), 1);
        }

        async fn a_file_too_large_leaves_nothing_behind(shelf) {
            let error = shelf.files.put(body(&["hello ", "world"]), 10).await.unwrap_err();
            assert!(matches!(error, FilesError::TooLarge { limit_bytes: 10 }), "{error}");
            assert_eq!(shelf.names(), Vec::<String>::new());
        }

        async fn an_upload_that_breaks_off_leaves_nothing_behind(shelf) {
            let broken = body(&["hello "]).chain(stream::iter([Err(io::Error::other("the line went dead"))]));
            let error = shelf.files.put(broken, 100).await.unwrap_err();
            assert!(matches!(error, FilesError::Incomplete(_)), "{error}");
            assert_eq!(shelf.names(), Vec::<String>::new());
        }

        async fn an_unknown_hash_is_not_found(shelf) {
            let unknown = ContentHash::new([7; 32]);
            assert!(!shelf.files.exists(&unknown).await.unwrap());
            assert!(shelf.files.open_read(&unknown).await.unwrap().is_none());
            assert_eq!(ContentHash::parse("../../etc/passwd"), None);
        }

        async fn a_file_deleted_externally_is_gone_and_can_be_stored_again(shelf) {
            let stored = shelf.files.put(body(&["hello"]), 10).await.unwrap();
            for file in files_below(&shelf.place()) {
                fs::remove_file(file).unwrap();
            }
            assert!(!shelf.files.exists(&stored.hash).await.unwrap());
            assert!(shelf.files.open_read(&stored.hash).await.unwrap().is_none());
            assert!(!shelf.files.delete_older(&stored.hash, Clock::system().now()).await.unwrap());
            assert_eq!(shelf.files.put(body(&["hello"]), 10).await.unwrap(), stored);
            assert_eq!(shelf.content(&stored.hash).await, Some((5, b"hello".to_vec())));
        }

        async fn a_discarded_upload_leaves_nothing_behind(shelf) {
            let received = shelf.files.receive(body(&["hello ", "world"]), 11).await.unwrap();
            let shown: Vec<_> = received.content().await.unwrap().try_collect().await.unwrap();
            assert_eq!(shown.concat(), b"hello world");
            let hash = received.stored_as().hash;
            assert!(!shelf.files.exists(&hash).await.unwrap());
            drop(received);
            assert_eq!(shelf.names(), Vec::<String>::new());
        }

        async fn files_are_listed_in_order_and_deleted_unless_stored_again(shelf) {
            let files = &shelf.files;
            let mut hashes = Vec::new();
            for content in ["one", "two", "three", "four", "five"] {
                hashes.push(files.put(body(&[content]), 10).await.unwrap().hash);
            }
            hashes.sort();
            age(&shelf.place());
            let cutoff = Clock::system().now().minus(DAY);
            let young = files.put(body(&["one"]), 10).await.unwrap().hash;
            hashes.retain(|hash| *hash != young);
            let mut seen: Vec<ContentHash> = Vec::new();
            loop {
                let batch = files.list_older(cutoff, seen.last().copied(), 2).await.unwrap();
                assert!(batch.len() <= 2);
                if batch.is_empty() {
                    break;
                }
                seen.extend(batch);
            }
            assert_eq!(seen, hashes);
            assert!(!files.delete_older(&young, cutoff).await.unwrap());
            assert!(files.delete_older(&hashes[0], cutoff).await.unwrap());
            assert!(!files.delete_older(&hashes[0], cutoff).await.unwrap());
            assert!(files.exists(&young).await.unwrap() && !files.exists(&hashes[0]).await.unwrap());
            assert_eq!(shelf.names().len(), 4, "{:?}", shelf.names());
        }
    }
}

#[tokio::test]
async fn stored_files_are_readable_by_the_services_user_only() {
    let shelf = Shelf::folder().await;
    shelf.files.put(body(&["hello world"]), 11).await.unwrap();
    let hex = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9";
    let place = shelf.local.path().join("b9/4d").join(hex);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place), 0o600);
    assert_eq!(mode(place.parent().unwrap()), 0o700);
}

#[tokio::test]
async fn drafts_abandoned_for_a_day_are_deleted_at_the_next_start() {
    let shelf = Shelf::folder().await;
    let folder = shelf.local.path();
    let now = UNIX_EPOCH + DAY * 20_000;
    for (name, age) in [("abandoned", DAY + Duration::from_secs(1)), ("under-way", DAY / 2), ("ahead", Duration::ZERO)]
    {
        let draft = fs::File::create(folder.join("incoming").join(name)).unwrap();
        draft.set_modified(now - age).unwrap();
    }
    let now = Time::from_millis(i64::try_from((DAY * 20_000).as_millis()).unwrap());
    Files::in_folder(folder, &file_keys(), now).unwrap();
    assert_eq!(files_below(folder), ["ahead", "under-way"].map(|name| folder.join("incoming").join(name)));
}
