//! Files under the hash of their content, in a local folder.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use tempfile::TempDir;
use trunkline::clock::Clock;
use trunkline::entropy::Entropy;
use trunkline::outside::files::{ContentHash, Files, FilesError};
use trunkline::values::Time;

fn store() -> (TempDir, Files) {
    let folder = tempfile::tempdir().unwrap();
    let files = Files::open(folder.path(), Entropy, Clock::system().now()).unwrap();
    (folder, files)
}

fn body(pieces: &[&'static str]) -> impl Stream<Item = Result<Bytes, io::Error>> + use<> {
    stream::iter(pieces.iter().map(|piece| Ok(Bytes::from_static(piece.as_bytes()))).collect::<Vec<_>>())
}

async fn content(files: &Files, hash: &ContentHash) -> Option<(u64, Vec<u8>)> {
    let (size_bytes, pieces) = files.open_read(hash).await.unwrap()?;
    Some((size_bytes, pieces.try_collect::<Vec<_>>().await.unwrap().concat()))
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[tokio::test]
async fn content_stored_twice_is_one_file_under_its_hash() {
    let (folder, files) = store();
    let first = files.put(body(&["hello ", "world"]), 11).await.unwrap();
    let second = files.put(body(&["hello world"]), 11).await.unwrap();
    assert_eq!(first, second);
    assert_eq!(first.size_bytes, 11);
    let hex = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9";
    assert_eq!(first.hash.to_string(), hex);
    assert_eq!(ContentHash::parse(hex), Some(first.hash));

    let place = folder.path().join("b9/4d").join(hex);
    assert_eq!(files_below(folder.path()), std::slice::from_ref(&place));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place), 0o600);
    assert_eq!(mode(place.parent().unwrap()), 0o700);
    assert_eq!(content(&files, &first.hash).await, Some((11, b"hello world".to_vec())));
    assert!(files.exists(&first.hash).await.unwrap());
}

#[tokio::test]
async fn a_file_larger_than_a_piece_is_read_back_whole() {
    let (_folder, files) = store();
    let piece: Vec<u8> = (0..100_000u32).map(|n| n as u8).collect();
    let pieces: Vec<_> = (0..7).map(|_| Ok::<_, io::Error>(Bytes::from(piece.clone()))).collect();
    let stored = files.put(stream::iter(pieces), 700_000).await.unwrap();
    assert_eq!(content(&files, &stored.hash).await, Some((700_000, piece.repeat(7))));
}

#[tokio::test]
async fn the_same_content_from_many_at_once_is_one_file() {
    let (folder, files) = store();
    let uploads = (0..32).map(|_| files.put(body(&["same"]), 100));
    let stored = futures_util::future::try_join_all(uploads).await.unwrap();
    assert!(stored.iter().all(|one| one == &stored[0]));
    assert_eq!(files_below(folder.path()).len(), 1);
}

#[tokio::test]
async fn a_file_too_large_leaves_nothing_behind() {
    let (folder, files) = store();
    let error = files.put(body(&["hello ", "world"]), 10).await.unwrap_err();
    assert!(matches!(error, FilesError::TooLarge { limit_bytes: 10 }), "{error}");
    assert_eq!(files_below(folder.path()), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn an_upload_that_breaks_off_leaves_nothing_behind() {
    let (folder, files) = store();
    let broken = body(&["hello "]).chain(stream::iter([Err(io::Error::other("the line went dead"))]));
    let error = files.put(broken, 100).await.unwrap_err();
    assert!(matches!(error, FilesError::BrokenOff(_)), "{error}");
    assert_eq!(files_below(folder.path()), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn an_unknown_hash_is_no_file() {
    let (_folder, files) = store();
    let unknown = ContentHash::new([7; 32]);
    assert!(!files.exists(&unknown).await.unwrap());
    assert!(files.open_read(&unknown).await.unwrap().is_none());
    assert_eq!(ContentHash::parse("../../etc/passwd"), None);
}

#[test]
fn drafts_abandoned_for_a_day_are_swept_up_at_the_next_start() {
    let (folder, _files) = store();
    let day = Duration::from_secs(24 * 60 * 60);
    let now = UNIX_EPOCH + day * 20_000;
    for (name, age) in [("abandoned", day + Duration::from_secs(1)), ("under-way", day / 2), ("ahead", Duration::ZERO)]
    {
        let draft = fs::File::create(folder.path().join("incoming").join(name)).unwrap();
        draft.set_modified(now - age).unwrap();
    }
    let now = Time::from_millis(i64::try_from((day * 20_000).as_millis()).unwrap());
    Files::open(folder.path(), Entropy, now).unwrap();
    let mut left: Vec<_> = files_below(folder.path());
    left.sort();
    assert_eq!(left, ["ahead", "under-way"].map(|name| folder.path().join("incoming").join(name)));
}

#[tokio::test]
async fn files_are_listed_in_order_and_go_only_while_nobody_stores_them_again() {
    let (folder, files) = store();
    let day = Duration::from_secs(24 * 60 * 60);
    let now = Clock::system().now();
    let mut hashes = Vec::new();
    for content in ["one", "two", "three", "four", "five"] {
        let stored = files.put(body(&[content]), 10).await.unwrap();
        hashes.push(stored.hash);
    }
    hashes.sort();
    for file in files_below(folder.path()) {
        let long_ago = fs::metadata(&file).unwrap().modified().unwrap() - day * 3;
        fs::File::options().write(true).open(&file).unwrap().set_modified(long_ago).unwrap();
    }
    let cutoff = now.minus(day);
    let young = files.put(body(&["one"]), 10).await.unwrap().hash;
    hashes.retain(|hash| *hash != young);
    let mut seen: Vec<ContentHash> = Vec::new();
    loop {
        let batch = files.untouched_since(cutoff, seen.last().copied(), 2).await.unwrap();
        assert!(batch.len() <= 2);
        if batch.is_empty() {
            break;
        }
        seen.extend(batch);
    }
    assert_eq!(seen, hashes);
    assert!(!files.remove_untouched(&young, cutoff).await.unwrap());
    assert!(files.remove_untouched(&hashes[0], cutoff).await.unwrap());
    assert!(!files.remove_untouched(&hashes[0], cutoff).await.unwrap());
    assert!(files.exists(&young).await.unwrap() && !files.exists(&hashes[0]).await.unwrap());
}

#[tokio::test]
async fn what_was_received_and_not_kept_leaves_nothing_behind() {
    let (folder, files) = store();
    let received = files.receive(body(&["hello ", "world"]), 11).await.unwrap();
    let shown: Vec<_> = received.content().await.unwrap().try_collect().await.unwrap();
    assert_eq!(shown.concat(), b"hello world");
    let hash = received.stored_as().hash;
    assert!(!files.exists(&hash).await.unwrap());
    drop(received);
    assert_eq!(files_below(folder.path()), Vec::<PathBuf>::new());
}
