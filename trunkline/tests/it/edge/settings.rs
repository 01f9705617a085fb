//! Settings with which the edge does not start: it says which, and no secret.

use super::programs::edge_program;

const SECRET: &str = "b0f1c2";

/// The message with which the edge refuses to start.
fn refusal(settings: &[(&str, &str)]) -> String {
    let output = edge_program().envs(settings.iter().copied()).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(1), true), "{output:?}");
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(!message.contains(SECRET), "{message}");
    message
}

#[test]
fn the_edge_does_not_start_without_the_url_of_the_service() {
    let incomplete = format!("switch:{SECRET}@127.0.0.1:9090");
    let wrong = format!("ftp://switch:{SECRET}@127.0.0.1:9090");
    for url in ["", "127.0.0.1:9090", "http://", &incomplete, &wrong] {
        let message = refusal(&[("EDGE_SERVICE", url), ("TRUNKLINE_SWITCH_SECRET", SECRET)]);
        assert!(
            message.starts_with("EDGE_SERVICE must be the URL of the service's operations port"),
            "{url}: {message}"
        );
    }
}

#[test]
fn the_edge_does_not_start_without_the_switch_secret() {
    for secret in [None, Some(("TRUNKLINE_SWITCH_SECRET", ""))] {
        let settings: Vec<_> = [("EDGE_SERVICE", "http://127.0.0.1:9090")].into_iter().chain(secret).collect();
        assert!(refusal(&settings).starts_with("TRUNKLINE_SWITCH_SECRET is not set"));
    }
}

#[test]
fn the_edge_does_not_start_with_half_a_certificate() {
    let service = ("EDGE_SERVICE", "https://127.0.0.1:9090");
    let secret = ("TRUNKLINE_SWITCH_SECRET", SECRET);
    assert_eq!(
        refusal(&[service, secret, ("EDGE_TLS_CERT", "/etc/hostname")]),
        "EDGE_TLS_CERT and EDGE_TLS_KEY must be set together\n"
    );
    assert_eq!(
        refusal(&[service, secret, ("EDGE_TLS_CA", "/nowhere/ca.pem")]),
        "EDGE_TLS_CA: /nowhere/ca.pem cannot be read\n"
    );
}
