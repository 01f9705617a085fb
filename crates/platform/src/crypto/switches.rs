//! The secrets that switches send: one for all of them, or some for each edge.
//!
//! Two may be valid at a time for the same edge, so that they can be rotated one edge after the other. Who sends the
//! secret of an edge speaks for that edge only.

use aws_lc_rs::constant_time::verify_slices_are_equal;

/// Who sent a switch secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The edge it may speak for; every edge if absent.
    pub edge: Option<String>,
}

impl Switch {
    pub fn may_speak_for(&self, edge: &str) -> bool {
        self.edge.as_ref().is_none_or(|own| own == edge)
    }
}

/// The secret of one edge, or of all.
#[derive(Clone)]
pub struct SwitchSecret {
    pub edge: Option<String>,
    pub secret: String,
}

#[derive(Clone)]
pub struct SwitchSecrets(Vec<SwitchSecret>);

impl SwitchSecrets {
    pub fn new(secrets: Vec<SwitchSecret>) -> SwitchSecrets {
        SwitchSecrets(secrets)
    }

    /// Whose secret this is. Every secret is compared, in constant time.
    pub fn identify(&self, given: &[u8]) -> Option<Switch> {
        let mut found = None;
        for SwitchSecret { edge, secret } in &self.0 {
            if verify_slices_are_equal(given, secret.as_bytes()).is_ok() {
                found = Some(Switch { edge: edge.clone() });
            }
        }
        found
    }

    /// One that a switch of this installation may send, for the demo and the agent of an edge on this machine.
    pub fn any(&self) -> Option<&str> {
        self.0.first().map(|secret| secret.secret.as_str())
    }
}
