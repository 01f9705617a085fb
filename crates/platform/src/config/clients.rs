//! What a client may hold, and how long the service waits for it.

use std::time::Duration;

use super::SettingsReader;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientSettings {
    /// Open connections of one network, an IPv4 address or an IPv6 /64.
    pub max_connections: usize,
    /// How long a client may take for its headers, and the time over which its speed is measured.
    pub window: Duration,
    /// How long a service that stops still accepts connections.
    pub drain: Duration,
}

impl SettingsReader {
    pub(super) fn clients(&mut self) -> ClientSettings {
        ClientSettings {
            max_connections: self.within("TRUNKLINE_CONNECTIONS_PER_NETWORK", 8..=1_000_000, 512),
            window: self.seconds("TRUNKLINE_CLIENT_TIMEOUT_SECONDS", 1..=300, 10),
            drain: self.seconds("TRUNKLINE_DRAIN_SECONDS", 0..=300, 3),
        }
    }

    pub(super) fn seconds(&mut self, name: &str, range: std::ops::RangeInclusive<usize>, default: usize) -> Duration {
        Duration::from_secs(self.within(name, range, default) as u64)
    }
}
