//! The portal that is built into the binary.

use std::io::Read;

use api::portal::File;
use flate2::read::GzDecoder;

use super::{BROWSER, built, visitor};
use crate::world::World;
use crate::world::engines::both;

/// What mails, the console, the sandbox and browsers lead to.
const LINKED: [&str; 7] =
    ["/", "/welcome", "/reset-password", "/magic-link", "/verify-email", "/settings/security", "/checkout/{order_id}"];

/// An address of a screen.
fn address(screen: &str) -> String {
    let parts = screen.split('/').map(|part| if part.starts_with('{') { "1" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

/// The values of an attribute in a page.
fn values<'p>(page: &'p str, attribute: &str) -> Vec<&'p str> {
    let starts = page.split(&format!(" {attribute}=\"")).skip(1).collect::<Vec<_>>();
    starts.into_iter().map(|rest| rest.split_once('"').unwrap().0).collect()
}

both! {
    async fn every_screen_of_the_built_portal_opens_and_loads_what_its_page_names(db) {
        let Some(portal) = built() else { return };
        let world = World::with_portal(db, portal).await.unwrap();
        let (visitor, url) = visitor(&world, BROWSER);
        let screens: Vec<String> = world.node.screens.paths().map(str::to_owned).collect();
        assert!(screens.len() > 50, "{screens:?}");
        for screen in &screens {
            let answer = visitor.get(&url(&address(screen))).await;
            assert_eq!((answer.status, answer.bytes.as_slice()), (200, portal.page.plain), "{screen}");
        }
        let page = std::str::from_utf8(portal.page.plain).unwrap();
        let named = [values(page, "src"), values(page, "href")].concat();
        assert!(named.iter().any(|path| path.starts_with("/assets/") && path.ends_with(".js")), "{page}");
        for path in named {
            let answer = visitor.get(&url(path)).await;
            assert_eq!(answer.status, 200, "{path}");
            assert_ne!(answer.header("content-type"), Some("application/octet-stream"), "{path}");
        }
        world.end().await;
    }
}

#[test]
fn the_built_portal_has_the_screens_that_others_lead_to() {
    let Some(portal) = built() else { return };
    let screens = portal.screens().unwrap();
    let missing: Vec<_> = LINKED.into_iter().filter(|path| !screens.has(path)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_page_of_the_built_portal_has_nothing_that_its_policy_forbids() {
    let Some(portal) = built() else { return };
    let page = std::str::from_utf8(portal.page.plain).unwrap();
    let inline = ["<style", " style=", " onload=", " onerror=", " onclick=", "javascript:"];
    assert!(!inline.iter().any(|part| page.contains(part)), "{page}");
    for script in page.split("<script").skip(1) {
        assert!(script.split_once('>').unwrap().0.contains(" src=\"/assets/"), "{page}");
    }
}

#[test]
fn every_asset_of_the_built_portal_is_compressed_and_the_same_in_every_coding() {
    let Some(portal) = built() else { return };
    for File { path, plain, brotli, gzip } in portal.files.iter().copied().chain([portal.page]) {
        if let Some(packed) = brotli {
            let mut unpacked = Vec::new();
            brotli::Decompressor::new(packed, 4096).read_to_end(&mut unpacked).unwrap();
            assert!(unpacked == plain && packed.len() < plain.len(), "{path}");
        }
        if let Some(packed) = gzip {
            let mut unpacked = Vec::new();
            GzDecoder::new(packed).read_to_end(&mut unpacked).unwrap();
            assert!(unpacked == plain && packed.len() < plain.len(), "{path}");
        }
        let is_text = path.ends_with(".js") || path.ends_with(".css");
        assert!(!is_text || plain.len() < 1024 || (brotli.is_some() && gzip.is_some()), "{path}");
    }
}
