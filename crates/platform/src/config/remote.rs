//! A service elsewhere that commands of this machine use, and the API key they send.

use std::fmt;

use super::{SettingsReader, is_origin};

#[derive(Clone, Default)]
pub struct RemoteSettings {
    /// Origin of its API.
    pub url: Option<String>,
    /// Origin of its operations port.
    pub ops_url: Option<String>,
    pub api_key: Option<String>,
}

/// Without the key.
impl fmt::Debug for RemoteSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteSettings").field("url", &self.url).field("ops_url", &self.ops_url).finish_non_exhaustive()
    }
}

impl SettingsReader {
    pub(super) fn remote(&mut self) -> RemoteSettings {
        let expected = "an http(s) origin without a path";
        RemoteSettings {
            url: self.checked("TRUNKLINE_URL", expected, is_origin),
            ops_url: self.checked("TRUNKLINE_OPS_URL", expected, is_origin),
            api_key: self.text("TRUNKLINE_API_KEY"),
        }
    }
}
