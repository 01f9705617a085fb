//! The portal as browsers and programs get it: a small one that is made here, the one that is built into the binary, and
//! journeys through that one in a browser.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod built;
mod first_admin;
mod journeys;
mod replaced_pages;
mod serving;

use api::portal::{File, Portal};

use crate::world::World;
use crate::world::client::Client;

const PAGE: &[u8] = b"<!doctype html><title>Portal</title><script type=module src=/assets/base-Ab12.js></script>";
const SCRIPT: &[u8] = b"document.title = 'Trunks';";
const FONT: &[u8] = b"wOF2 and the rest of a font";

/// What a browser sends when it opens an address.
const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8";

/// A portal with these screens. Its compressed forms are no such thing, so that they are told apart.
fn portal(screens: &[&str]) -> Portal {
    const fn file(path: &'static str, plain: &'static [u8]) -> File {
        File { path, plain, brotli: None, gzip: None }
    }
    const FILES: &[File] = &[
        File { brotli: Some(b"script, br"), gzip: Some(b"script, gzip"), ..file("/assets/base-Ab12.js", SCRIPT) },
        file("/assets/font-Cd34.woff2", FONT),
        file("/favicon.svg", b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>"),
    ];
    let list: Vec<_> = screens.iter().map(|path| serde_json::json!({"path": path, "who": "anyone"})).collect();
    Portal {
        page: File { brotli: Some(b"page, br"), gzip: Some(b"page, gzip"), ..file("/index.html", PAGE) },
        files: FILES,
        screens: serde_json::Value::from(list).to_string().leak(),
    }
}

/// The portal of the binary. `make test` builds it; where it was not built, there is nothing to look at.
fn built() -> Option<Portal> {
    let is_required = std::env::var_os("TRUNKLINE_TEST_PORTAL").is_some();
    assert!(::portal::BUILT.is_some() || !is_required, "the binary has no portal: run tools/build-portal");
    ::portal::BUILT
}

/// A caller without a token and what it asks for, and the address of a path.
fn visitor(world: &World, accept: &str) -> (Client, impl Fn(&str) -> String + use<>) {
    let origin = format!("http://{}", world.node.public);
    (world.anyone().header("Accept", accept), move |path: &str| format!("{origin}{path}"))
}
