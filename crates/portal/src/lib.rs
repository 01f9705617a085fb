//! The portal of this binary: what `npm run build` left in `portal/dist` when the binary was built, as bytes.
//!
//! `build.rs` writes the table. It is empty where nothing was built: a service without its portal is a service all the
//! same, and building one needs no Node. Only the binary depends on this crate, so a change of the portal compiles
//! nothing of the service again; `api::portal` has the types and serves them.

use api::portal::Portal;

/// The portal, unless none was built.
pub static BUILT: Option<Portal> = include!(concat!(env!("OUT_DIR"), "/portal.rs"));
