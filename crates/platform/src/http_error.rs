//! Why a request to another server failed, in words for logs and command lines.

use std::error::Error;

use reqwest::Url;

/// The error with all of its causes ("connection refused"), without the URL, which may contain a password or a key.
pub fn reason(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut reason = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let text = inner.to_string();
        // Some errors repeat their cause.
        if !reason.contains(&text) {
            reason.push_str(&format!(": {text}"));
        }
        cause = inner.source();
    }
    reason
}

/// Says that a server cannot be reached, and why.
pub fn unreachable(server: &str, error: reqwest::Error) -> String {
    format!("{server} cannot be reached: {}", reason(error))
}

/// A server by its role and its address in the settings: "the switch at 127.0.0.1:8060".
pub fn server(role: &str, url: &str) -> String {
    let url = Url::parse(url).ok();
    match url.as_ref().and_then(|url| Some((url.host_str()?, url.port_or_known_default()?))) {
        Some((host, port)) => format!("{role} at {host}:{port}"),
        None => role.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test]
    async fn a_reason_names_the_cause_and_not_the_url() {
        // Nothing listens on the first port.
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let error = http.get("http://user:secret@127.0.0.1:1/path?key=secret").send().await.unwrap_err();
        let said = unreachable("the switch", error);
        assert!(said.starts_with("the switch cannot be reached: ") && said.contains("Connection refused"), "{said}");
        assert!(!said.contains("secret"), "{said}");
    }

    #[test]
    fn a_server_is_named_without_the_credentials_of_its_url() {
        let named = |url| server("the switch", url);
        assert_eq!(named("http://127.0.0.1:8060/"), "the switch at 127.0.0.1:8060");
        assert_eq!(named("https://user:secret@switch.example.com/rpc"), "the switch at switch.example.com:443");
        assert_eq!(named("http://[::1]:8060"), "the switch at [::1]:8060");
        assert_eq!(named("switch"), "the switch");
    }
}
