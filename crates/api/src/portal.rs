//! The portal: the web app for customers and the team, as its build left it. `crates/portal` has the one of this binary.
//!
//! Files below `/assets/` have names that change with their content. Every screen is the same page, which looks at the
//! path in the browser; the list of screens tells an address that exists (200) from one that does not (404). A page of
//! the service itself gives way to the screen that takes its place, see `server::pages`.

use hyper::header::HeaderValue;
use serde::Deserialize;

use super::document::Document;

/// Nothing inline, nothing from elsewhere; only Svelte may write HTML, under its own Trusted Types policy.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      font-src 'self'; connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types svelte-trusted-html";
/// The folder of files whose names change with their content.
const ASSETS: &str = "/assets/";

/// A portal that was built.
#[derive(Clone, Copy)]
pub struct Portal {
    /// The page of every screen.
    pub page: File,
    /// All other files.
    pub files: &'static [File],
    /// The screens as JSON: a list of their paths, names in braces, or of objects with a `path`.
    pub screens: &'static str,
}

/// A file with its compressed forms, if they are shorter.
#[derive(Clone, Copy)]
pub struct File {
    pub path: &'static str,
    pub plain: &'static [u8],
    pub brotli: Option<&'static [u8]>,
    pub gzip: Option<&'static [u8]>,
}

impl File {
    pub(super) fn is_immutable(&self) -> bool {
        self.path.starts_with(ASSETS)
    }
}

impl Portal {
    /// The page, under the policy of the portal.
    pub(super) fn page(&self) -> Document {
        Document::of_portal(self.page, Some(HeaderValue::from_static(POLICY)))
    }

    /// Fails if the list cannot be read.
    pub fn screens(&self) -> Result<Screens, String> {
        let screens: Vec<Screen> =
            serde_json::from_str(self.screens).map_err(|error| format!("screens of the portal: {error}"))?;
        let path = |screen| match screen {
            Screen::Path(path) | Screen::Described { path } => path,
        };
        Ok(Screens(screens.into_iter().map(path).collect()))
    }
}

/// A line of the list. Who may open a screen is for the portal to know: the API decides what each caller sees.
#[derive(Deserialize)]
#[serde(untagged)]
enum Screen {
    Path(String),
    Described { path: String },
}

/// The paths of the portal's screens; none without a portal.
#[derive(Clone, Default)]
pub struct Screens(Vec<String>);

impl Screens {
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whether there is a screen with this path, whatever the names in braces are.
    pub fn has(&self, path: &str) -> bool {
        self.paths().any(|own| shape(own) == shape(path))
    }
}

/// A path without the names of its parameters.
fn shape(path: &str) -> Vec<&str> {
    path.split('/').map(|part| if part.starts_with('{') { "{}" } else { part }).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn screens(list: &'static str) -> Result<Screens, String> {
        let page = File { path: "/index.html", plain: b"", brotli: None, gzip: None };
        Portal { page, files: &[], screens: list }.screens()
    }

    #[test]
    fn a_screen_is_known_by_its_path_whatever_its_parameters_are_called() {
        for list in [r#"[{"path": "/", "who": "customer"}, {"path": "/trunks/{id}"}]"#, r#"["/", "/trunks/{id}"]"#] {
            let known = screens(list).unwrap();
            for (path, expected) in [
                ("/", true),
                ("/trunks/{trunk_id}", true),
                ("/trunks", false),
                ("/trunks/{id}/calls", false),
                ("", false),
            ] {
                assert_eq!(known.has(path), expected, "{path:?} of {list}");
            }
        }
        assert!(!Screens::default().has("/"));
    }

    #[test]
    fn a_list_that_is_no_list_of_paths_is_refused() {
        for list in ["", "{}", r#"[1]"#, r#"[{"who": "anyone"}]"#] {
            assert!(screens(list).is_err(), "{list:?}");
        }
    }
}
