//! The settings of a bucket for files. They belong together: with a bucket's name they hold, without it none may be set.

use super::Reading;
use crate::outside::files::{Addressing, BucketSettings};

const BUCKET: &str = "TRUNKLINE_S3_BUCKET";
const ENDPOINT: &str = "TRUNKLINE_S3_ENDPOINT";
const REGION: &str = "TRUNKLINE_S3_REGION";
const KEY_ID: &str = "TRUNKLINE_S3_KEY_ID";
const SECRET: &str = "TRUNKLINE_S3_SECRET";
const ADDRESSING: &str = "TRUNKLINE_S3_ADDRESSING";

impl Reading {
    pub(super) fn bucket(&mut self) -> Option<BucketSettings> {
        let bucket = self.checked(BUCKET, "a bucket's name", is_bucket_name);
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
            self.wrong(ENDPOINT, "an http(s) address without a user, a query or a fragment");
        }
        for (name, given) in [(KEY_ID, &key_id), (SECRET, &secret)] {
            if given.is_none() {
                self.wrong(name, "given with a bucket");
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

    const WHOLE: [(&str, &str); 3] = [(BUCKET, "papers"), (KEY_ID, "AKIA"), (SECRET, "hunter2/+=")];

    fn bucket(names: &[(&str, &str)]) -> Result<Option<BucketSettings>, ConfigError> {
        let names = names.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Ok(Settings::from_names(names, BTreeMap::new())?.bucket)
    }

    #[test]
    fn a_name_and_a_key_are_enough_for_a_bucket_and_none_is_needed() {
        assert_eq!(bucket(&[]).unwrap(), None);
        let settings = bucket(&WHOLE).unwrap().unwrap();
        assert_eq!(settings.endpoint.as_str(), "https://s3.us-east-1.amazonaws.com/");
        assert_eq!(settings.addressing, Addressing::Path);
        assert!(!format!("{settings:?}").contains("hunter2"));
        let elsewhere = [(REGION, "eu-central-1"), (ENDPOINT, "http://10.0.0.1:9000/s3"), (ADDRESSING, "host")];
        let settings = bucket(&[WHOLE.as_slice(), &elsewhere].concat()).unwrap().unwrap();
        assert_eq!((settings.endpoint.as_str(), settings.addressing), ("http://10.0.0.1:9000/s3", Addressing::Host));
    }

    #[test]
    fn half_a_bucket_is_refused_without_repeating_its_secret() {
        for names in [
            vec![(SECRET, "hunter2")],
            vec![WHOLE[0], WHOLE[2]],
            vec![(BUCKET, "Pa/pers"), WHOLE[1], WHOLE[2]],
            vec![WHOLE[0], WHOLE[1], WHOLE[2], (ENDPOINT, "s3.example")],
            vec![WHOLE[0], WHOLE[1], WHOLE[2], (ENDPOINT, "https://me:hunter2@s3.example")],
            vec![WHOLE[0], WHOLE[1], WHOLE[2], (ADDRESSING, "elsewhere")],
        ] {
            let error = bucket(&names).unwrap_err();
            assert_eq!(error.0.len(), 1, "{error}");
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }
}
