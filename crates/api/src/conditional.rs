//! ETags: a strong ETag is the hash of the response body.

use data_encoding::BASE64URL_NOPAD;
use serde::Serialize;

use super::input::sha256;
use super::problem::Problem;

pub fn etag(body: &[u8]) -> String {
    format!("\"{}\"", BASE64URL_NOPAD.encode(&sha256(body)[..16]))
}

/// The ETag that a GET of this resource has.
pub fn etag_of(resource: &impl Serialize) -> Result<String, Problem> {
    Ok(etag(&serde_json::to_vec(resource).map_err(Problem::internal)?))
}

/// Whether a list of tags, as in `If-Match` or `If-None-Match`, names this one. Weak tags match their strong form,
/// since proxies that compress weaken them.
pub fn matches(list: &str, tag: &str) -> bool {
    list.split(',').map(str::trim).any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_tags_matches_by_any_of_them() {
        let tag = etag(b"body");
        assert!(matches(&tag, &tag));
        assert!(matches("*", &tag));
        assert!(matches(&format!("\"other\", W/{tag}"), &tag));
        assert!(!matches("\"other\"", &tag));
        assert!(!matches("", &tag));
    }
}
