//! ETags: a strong ETag is the hash of the response body, and the name of its coding if it is compressed.

use data_encoding::BASE64URL_NOPAD;
use serde::Serialize;

use super::compression::Coding;
use super::input::sha256;
use super::problem::Problem;

pub fn etag(body: &[u8]) -> String {
    format!("\"{}\"", BASE64URL_NOPAD.encode(&sha256(body)[..16]))
}

/// The ETag that a GET of this resource has.
pub fn etag_of(resource: &impl Serialize) -> Result<String, Problem> {
    Ok(etag(&serde_json::to_vec(resource).map_err(Problem::internal)?))
}

/// The tag of the same version in this coding: `"hash.gzip"`.
pub fn with_coding(tag: &str, coding: Coding) -> String {
    let version = version(tag).unwrap_or_default();
    format!("\"{version}.{}\"", coding.token())
}

/// Whether a list of tags, as in `If-Match` or `If-None-Match`, names this version in any coding.
pub fn matches(list: &str, tag: &str) -> bool {
    matching(list, tag).is_some()
}

/// The first tag of a list that names this version, as a strong one. Weak tags match their strong form, since proxies
/// that compress weaken them.
pub fn matching<'l>(list: &'l str, tag: &str) -> Option<&'l str> {
    let wanted = version(tag);
    let mut tags = list.split(',').map(|one| one.trim().trim_start_matches("W/"));
    tags.find(|one| *one == "*" || (wanted.is_some() && version(one) == wanted))
}

/// The version that a tag names, without the coding.
fn version(tag: &str) -> Option<&str> {
    let quoted = tag.strip_prefix('"')?.strip_suffix('"')?;
    match quoted.rsplit_once('.') {
        Some((version, "br" | "gzip")) => Some(version),
        _ => Some(quoted),
    }
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
        assert!(!matches(tag.trim_matches('"'), &tag), "a tag has quotes");
    }

    #[test]
    fn a_version_has_one_tag_in_each_coding_and_matches_in_all() {
        let tag = etag(b"body");
        let packed = with_coding(&tag, Coding::Gzip);
        assert_ne!(packed, tag);
        assert_eq!(with_coding(&packed, Coding::Gzip), packed);
        assert_eq!(matching(&format!("\"other\", {packed}"), &tag), Some(packed.as_str()));
        assert!(matches(&format!("W/{packed}"), &tag) && matches(&tag, &packed));
        assert!(!matches("\"other.gzip\"", &tag));
    }
}
