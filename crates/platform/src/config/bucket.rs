//! The settings of the S3 bucket for files. With a bucket's name its keys are required; without it none may be set.

use super::SettingsReader;
use crate::outside::files::{Addressing, BucketSettings};

const BUCKET: &str = "TRUNKLINE_S3_BUCKET";
const ENDPOINT: &str = "TRUNKLINE_S3_ENDPOINT";
const REGION: &str = "TRUNKLINE_S3_REGION";
const KEY_ID: &str = "TRUNKLINE_S3_KEY_ID";
const SECRET: &str = "TRUNKLINE_S3_SECRET";
const ADDRESSING: &str = "TRUNKLINE_S3_ADDRESSING";

impl SettingsReader {
    pub(super) fn bucket(&mut self) -> Option<BucketSettings> {
        let bucket = self.checked(BUCKET, "a bucket name", is_bucket_name);
        let region = self.checked(REGION, "a region such as eu-central-1", is_word);
        let endpoint = self.text(ENDPOINT);
        let [key_id, secret] = [KEY_ID, SECRET].map(|name| self.checked(name, "printable ASCII", is_word));
        let addressing = self.text(ADDRESSING);
        let Some(bucket) = bucket else {
            if [region, endpoint, key_id, secret, addressing].iter().any(Option::is_some) {
                self.wrong(BUCKET, "given when another TRUNKLINE_S3_ setting is");
            }
            return None;
        };
        let region = region.unwrap_or_else(|| "us-east-1".to_owned());
        let endpoint = endpoint.unwrap_or_else(|| format!("https://s3.{region}.amazonaws.com"));
        let endpoint = parse_endpoint(&endpoint);
        if endpoint.is_none() {
            self.wrong(ENDPOINT, "an http(s) URL without a user, a query or a fragment");
        }
        for (name, given) in [(KEY_ID, &key_id), (SECRET, &secret)] {
            if given.is_none() {
                self.wrong(name, "given when TRUNKLINE_S3_BUCKET is");
            }
        }
        let addressing = match addressing.as_deref() {
            None | Some("path") => Addressing::Path,
            Some("host") => Addressing::Host,
            Some(_) => {
                self.wrong(ADDRESSING, "path or host");
                Addressing::Path
            }
        };
        Some(BucketSettings { endpoint: endpoint?, bucket, region, key_id: key_id?, secret: secret?, addressing })
    }
}

fn parse_endpoint(text: &str) -> Option<reqwest::Url> {
    let url: reqwest::Url = text.parse().ok()?;
    let is_plain =
        url.username().is_empty() && url.password().is_none() && url.query().is_none() && url.fragment().is_none();
    (is_plain && url.has_host() && matches!(url.scheme(), "http" | "https")).then_some(url)
}

fn is_bucket_name(text: &str) -> bool {
    (3..=63).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-'))
}

fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::{ConfigError, Settings};
    use super::*;

    const COMPLETE: [(&str, &str); 3] = [(BUCKET, "documents"), (KEY_ID, "AKIA"), (SECRET, "hunter2/+=")];

    fn bucket(names: &[(&str, &str)]) -> Result<Option<BucketSettings>, ConfigError> {
        let names = names.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Ok(Settings::from_names(names, BTreeMap::new())?.bucket)
    }

    #[test]
    fn a_bucket_needs_a_name_and_keys_and_is_optional() {
        assert_eq!(bucket(&[]).unwrap(), None);
        let settings = bucket(&COMPLETE).unwrap().unwrap();
        assert_eq!(settings.endpoint.as_str(), "https://s3.us-east-1.amazonaws.com/");
        assert_eq!(settings.addressing, Addressing::Path);
        assert!(!format!("{settings:?}").contains("hunter2"));
        let custom = [(REGION, "eu-central-1"), (ENDPOINT, "http://10.0.0.1:9000/s3"), (ADDRESSING, "host")];
        let settings = bucket(&[COMPLETE.as_slice(), &custom].concat()).unwrap().unwrap();
        assert_eq!((settings.endpoint.as_str(), settings.addressing), ("http://10.0.0.1:9000/s3", Addressing::Host));
    }

    #[test]
    fn an_incomplete_bucket_is_rejected_without_showing_its_secret() {
        for names in [
            vec![(SECRET, "hunter2")],
            vec![COMPLETE[0], COMPLETE[2]],
            vec![(BUCKET, "Docu/ments"), COMPLETE[1], COMPLETE[2]],
            vec![COMPLETE[0], COMPLETE[1], COMPLETE[2], (ENDPOINT, "s3.example")],
            vec![COMPLETE[0], COMPLETE[1], COMPLETE[2], (ENDPOINT, "https://me:hunter2@s3.example")],
            vec![COMPLETE[0], COMPLETE[1], COMPLETE[2], (ADDRESSING, "elsewhere")],
        ] {
            let error = bucket(&names).unwrap_err();
            assert_eq!(error.0.len(), 1, "{error}");
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }
}
