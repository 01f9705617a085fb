//! The settings of the log.

use tracing_subscriber::EnvFilter;

use super::{LogFormat, SettingsReader};

impl SettingsReader {
    pub(super) fn log(&mut self) -> LogFormat {
        match self.text("TRUNKLINE_LOG").as_deref() {
            None | Some("human") => LogFormat::Human,
            Some("json") => LogFormat::Json,
            Some(_) => {
                self.wrong("TRUNKLINE_LOG", "human or json");
                LogFormat::Human
            }
        }
    }

    pub(super) fn log_filter(&mut self) -> String {
        let filter = self.checked("TRUNKLINE_LOG_FILTER", "levels such as warn or info,voice=debug", is_filter);
        filter.unwrap_or_else(|| "info".to_owned())
    }
}

fn is_filter(text: &str) -> bool {
    EnvFilter::try_new(text).is_ok()
}
