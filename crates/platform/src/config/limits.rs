//! Rate limits among the settings.

use std::time::Duration;

use super::SettingsReader;
use crate::limits::{Limit, MAX_WINDOW, Quota};

impl SettingsReader {
    /// `TRUNKLINE_LIMIT_READS=600/60`: 600 requests in a window of 60 seconds.
    pub(super) fn quotas(&mut self) -> Vec<(Limit, Quota)> {
        let mut quotas = Vec::new();
        for limit in Limit::ALL {
            let name = format!("TRUNKLINE_LIMIT_{}", limit.name().replace('-', "_").to_uppercase());
            let Some(text) = self.text(&name) else { continue };
            let numbers = text.split_once('/').and_then(|(requests, seconds)| {
                Some((
                    requests.parse().ok().filter(|n| *n > 0)?,
                    seconds.parse().ok().filter(|n| (1..=MAX_WINDOW.as_secs()).contains(n))?,
                ))
            });
            match numbers {
                Some((requests, seconds)) => {
                    quotas.push((limit, Quota { requests, window: Duration::from_secs(seconds) }));
                }
                None => self.wrong(&name, "requests/seconds, such as 600/60, with a window of at most 3600 seconds"),
            }
        }
        quotas
    }
}
