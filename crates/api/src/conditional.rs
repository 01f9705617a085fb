//! ETags: a strong ETag is the XXH3 hash of the response body, which is the same on all nodes, and the name of its coding
//! if it is compressed.
//!
//! Where fields of a resource change by themselves, such as a balance, its ETag has two parts: `"version~body"`. The first
//! is the hash of all other fields and is what `If-Match` compares; `If-None-Match` compares the whole.

use data_encoding::BASE64URL_NOPAD;
use serde::Serialize;
use twox_hash::XxHash3_128;

use super::compression::Coding;
use super::problem::Problem;

pub fn etag(body: &[u8]) -> String {
    format!("\"{}\"", BASE64URL_NOPAD.encode(&XxHash3_128::oneshot(body).to_be_bytes()))
}

/// The ETag that a GET of this resource has.
pub fn etag_of(resource: &impl Serialize) -> Result<String, Problem> {
    Ok(etag(&serde_json::to_vec(resource).map_err(Problem::internal)?))
}

/// The ETag of a resource with this version and this body.
pub fn etag_with_version(version: &impl Serialize, body: &[u8]) -> Result<String, Problem> {
    let (version, body) = (etag_of(version)?, etag(body));
    Ok(format!("\"{}{SEPARATOR}{}\"", version.trim_matches('"'), body.trim_matches('"')))
}

/// Between the version and the body. Neither base64 nor the name of a coding has it.
const SEPARATOR: char = '~';

/// The tag of the same version in this coding: `"hash.gzip"`.
pub fn with_coding(tag: &str, coding: Coding) -> String {
    let version = version(tag).unwrap_or_default();
    format!("\"{version}.{}\"", coding.token())
}

/// Whether a list of tags, as in `If-Match`, names this version in any coding, whatever body it had.
pub fn matches(list: &str, tag: &str) -> bool {
    let wanted = version(tag);
    let has_version = |one: &str| version(one).and_then(|own| own.split(SEPARATOR).next()) == wanted;
    tags(list).any(|one| one == "*" || (wanted.is_some() && (version(one) == wanted || has_version(one))))
}

/// The first tag of a list, as in `If-None-Match`, that names this version and body, as a strong one. Weak tags match
/// their strong form, since proxies that compress weaken them.
pub fn matching<'l>(list: &'l str, tag: &str) -> Option<&'l str> {
    let wanted = version(tag);
    tags(list).find(|one| *one == "*" || (wanted.is_some() && version(one) == wanted))
}

fn tags(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(|one| one.trim().trim_start_matches("W/"))
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
#[allow(clippy::unwrap_used)]
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
    fn a_version_matches_whatever_body_it_had() {
        let [before, after] = ["1", "2"].map(|balance| etag_with_version(&"version", balance.as_bytes()).unwrap());
        assert_ne!(before, after);
        let version = etag_of(&"version").unwrap();
        assert!(matches(&before, &version) && matches(&with_coding(&after, Coding::Gzip), &version));
        assert!(!matches(&before, &etag_of(&"another").unwrap()));
        assert_eq!(matching(&before, &after), None);
        assert_eq!(matching(&after, &after), Some(after.as_str()));
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
