//! Forged tokens, each wrong in one way.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac::{self, Algorithm, HMAC_SHA256, HMAC_SHA384, HMAC_SHA512};
use data_encoding::{BASE64, BASE64URL_NOPAD, HEXLOWER};
use serde_json::{Map, Value, json};

use crate::world::JWT_SECRET;

const STRANGE_KEY: &str = "a key that somebody else made up, long enough";

pub fn kid(secret: &str) -> String {
    HEXLOWER.encode(&digest(&SHA256, secret.as_bytes()).as_ref()[..8])
}

pub fn header() -> Value {
    json!({"typ": "JWT", "alg": "HS256", "kid": kid(JWT_SECRET)})
}

pub fn claims_of(token: &str) -> Value {
    let payload = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&BASE64URL_NOPAD.decode(payload.as_bytes()).unwrap()).unwrap()
}

fn part(value: &Value) -> String {
    BASE64URL_NOPAD.encode(value.to_string().as_bytes())
}

fn seal(algorithm: Algorithm, key: &[u8], header: &Value, payload: &str) -> String {
    let signed = format!("{}.{payload}", part(header));
    let tag = hmac::sign(&hmac::Key::new(algorithm, key), signed.as_bytes());
    format!("{signed}.{}", BASE64URL_NOPAD.encode(tag.as_ref()))
}

/// A token signed as the service signs.
pub fn signed(claims: &Value) -> String {
    seal(HMAC_SHA256, JWT_SECRET.as_bytes(), &header(), &part(claims))
}

pub fn signed_by(secret: &str, claims: &Value) -> String {
    let mut header = header();
    header["kid"] = kid(secret).into();
    seal(HMAC_SHA256, secret.as_bytes(), &header, &part(claims))
}

pub fn changed(claims: &Value, name: &str, value: Value) -> Value {
    let mut claims = claims.clone();
    claims[name] = value;
    claims
}

fn without(object: &Value, name: &str) -> Value {
    let mut object: Map<String, Value> = object.as_object().unwrap().clone();
    object.remove(name).unwrap();
    object.into()
}

pub type Forgeries = Vec<(String, String)>;

/// Another algorithm than ours, or none.
pub fn of_the_algorithm(claims: &Value) -> Forgeries {
    let payload = part(claims);
    let mut all = Forgeries::new();
    for alg in ["none", "None", "NONE", "nOnE"] {
        let header = part(&changed(&header(), "alg", alg.into()));
        all.push((format!("alg {alg}, unsigned"), format!("{header}.{payload}.")));
        all.push((format!("alg {alg}, two parts"), format!("{header}.{payload}")));
    }
    for alg in [
        json!("none"),
        json!(""),
        json!(null),
        json!(256),
        json!(["HS256"]),
        json!("hs256"),
        json!("HS256 "),
        json!("HS384"),
        json!("HS512"),
        json!("RS256"),
        json!("ES256"),
        json!("PS256"),
        json!("EdDSA"),
    ] {
        let token = seal(HMAC_SHA256, JWT_SECRET.as_bytes(), &changed(&header(), "alg", alg.clone()), &payload);
        all.push((format!("alg {alg} with a signature of HS256"), token));
    }
    for (alg, algorithm) in [("HS384", HMAC_SHA384), ("HS512", HMAC_SHA512), ("HS256", HMAC_SHA512)] {
        let token = seal(algorithm, JWT_SECRET.as_bytes(), &changed(&header(), "alg", alg.into()), &payload);
        all.push((format!("alg {alg}, signed with another hash than ours"), token));
    }
    let bare = seal(HMAC_SHA256, JWT_SECRET.as_bytes(), &without(&header(), "alg"), &payload);
    all.push(("no alg".into(), bare));
    all
}

/// Another key than ours, or another way to find it.
pub fn of_the_key(claims: &Value) -> Forgeries {
    let payload = part(claims);
    let mut all = Forgeries::new();
    let mut push = |name: &str, header: &Value, key: &[u8]| {
        all.push((name.to_owned(), seal(HMAC_SHA256, key, header, &payload)));
    };
    let ours = JWT_SECRET.as_bytes();
    push("no kid", &without(&header(), "kid"), ours);
    for kid in [json!(null), json!(7), json!(""), json!("0123456789abcdef"), json!(kid(JWT_SECRET).to_uppercase())] {
        push(&format!("kid {kid}"), &changed(&header(), "kid", kid.clone()), ours);
    }
    for path in ["../../../../dev/null", "/dev/null", "file:///dev/null", "x' UNION SELECT ''--", "\u{0}", "|true"] {
        push(&format!("kid {path:?}, empty key"), &changed(&header(), "kid", path.into()), b"");
    }
    push("kid of a key that is not live", &changed(&header(), "kid", kid(STRANGE_KEY).into()), STRANGE_KEY.as_bytes());
    push("empty key", &header(), b"");
    push("a key of zeroes", &header(), &[0; 32]);
    push("another key", &header(), STRANGE_KEY.as_bytes());
    push("the kid as key", &header(), kid(JWT_SECRET).as_bytes());
    push("the hash of the key as key", &header(), digest(&SHA256, ours).as_ref());
    push("the key with a line end", &header(), format!("{JWT_SECRET}\n").as_bytes());
    push("half the key", &header(), &ours[..ours.len() / 2]);
    let jwk = json!({"kty": "oct", "alg": "HS256", "k": BASE64URL_NOPAD.encode(STRANGE_KEY.as_bytes())});
    push("a key in the token", &changed(&header(), "jwk", jwk), STRANGE_KEY.as_bytes());
    for (name, value) in [
        ("jku", json!("http://127.0.0.1:1/keys.json")),
        ("x5u", json!("http://127.0.0.1:1/chain.pem")),
        ("x5c", json!([BASE64.encode(STRANGE_KEY.as_bytes())])),
    ] {
        push(&format!("a key by {name}"), &changed(&header(), name, value), STRANGE_KEY.as_bytes());
    }
    push("a critical extension", &changed(&header(), "crit", json!(["exp"])), ours);
    push("a critical extension nobody knows", &changed(&header(), "crit", json!(["urn:x"])), ours);
    let detached = changed(&changed(&header(), "crit", json!(["b64"])), "b64", json!(false));
    push("a payload that is not encoded", &detached, ours);
    all
}

/// Signed with our key, but not saying what our tokens say. Proves that nothing is taken on trust.
pub fn of_the_claims(claims: &Value) -> Forgeries {
    let mut all = Forgeries::new();
    for name in ["sub", "acc", "roles", "iat", "exp", "jti", "aud"] {
        all.push((format!("no {name}"), signed(&without(claims, name))));
        for value in [json!(null), json!({}), json!(true), json!("")] {
            all.push((format!("{name} is {value}"), signed(&changed(claims, name, value.clone()))));
        }
    }
    for (name, value) in [
        ("sub", json!(7)),
        ("sub", json!("usr_x")),
        ("sub", json!("' OR 1=1 --")),
        ("acc", json!(7)),
        ("roles", json!("admin")),
        ("roles", json!(["root"])),
        ("roles", json!([1])),
        ("iat", json!("1700000000")),
        ("iat", json!(i64::MAX)),
        ("exp", json!("9999999999")),
        ("exp", json!(1e300)),
        ("exp", json!(u64::MAX)),
        ("jti", json!(7)),
        ("jti", json!("x")),
        ("jti", json!("%")),
        ("jti", json!("00000000-0000-7000-8000-000000000000")),
        ("aud", json!("trunkline:2fa")),
        ("aud", json!("trunkline")),
        ("aud", json!(["trunkline:access"])),
        ("aud", json!("TRUNKLINE:ACCESS")),
        ("scope", json!("all")),
        ("act", json!("x")),
    ] {
        all.push((format!("{name} is {value}"), signed(&changed(claims, name, value.clone()))));
    }
    for payload in ["", "null", "[]", "\"text\"", "{", "{}", "\u{feff}{}"] {
        let payload = BASE64URL_NOPAD.encode(payload.as_bytes());
        all.push((format!("payload {payload}"), seal(HMAC_SHA256, JWT_SECRET.as_bytes(), &header(), &payload)));
    }
    let twice = claims.to_string().replacen('{', "{\"sub\":\"usr_00000000000070008000000000000000\",", 1);
    let twice = BASE64URL_NOPAD.encode(twice.as_bytes());
    all.push(("a claim twice".into(), seal(HMAC_SHA256, JWT_SECRET.as_bytes(), &header(), &twice)));
    all
}

/// A valid token, tampered with.
pub fn of_the_bytes(good: &str, claims: &Value) -> Forgeries {
    let [head, payload, tag] = good.split('.').collect::<Vec<_>>()[..] else { panic!("three parts") };
    let raw = BASE64URL_NOPAD.decode(tag.as_bytes()).unwrap();
    let promoted = part(&changed(claims, "roles", json!(["admin"])));
    let later = part(&changed(claims, "exp", json!(4_000_000_000_i64)));
    let flipped = |at: usize| {
        let mut raw = raw.clone();
        raw[at] ^= 1;
        BASE64URL_NOPAD.encode(&raw)
    };
    let mut all: Forgeries = [
        ("roles promoted", format!("{head}.{promoted}.{tag}")),
        ("life prolonged", format!("{head}.{later}.{tag}")),
        ("first bit of the signature", format!("{head}.{payload}.{}", flipped(0))),
        ("last bit of the signature", format!("{head}.{payload}.{}", flipped(31))),
        ("signature cut by a byte", format!("{head}.{payload}.{}", BASE64URL_NOPAD.encode(&raw[..31]))),
        ("signature of one byte", format!("{head}.{payload}.{}", BASE64URL_NOPAD.encode(&raw[..1]))),
        ("signature longer", format!("{head}.{payload}.{}", BASE64URL_NOPAD.encode(&[&raw[..], &[0]].concat()))),
        ("signature in hex", format!("{head}.{payload}.{}", HEXLOWER.encode(&raw))),
        ("signature padded", format!("{good}=")),
        ("signature spelt otherwise", format!("{head}.{payload}.{}", other_spelling(tag))),
        ("no signature", format!("{head}.{payload}.")),
        ("two parts", format!("{head}.{payload}")),
        ("one part", head.to_owned()),
        ("no header", format!(".{payload}.{tag}")),
        ("no payload", format!("{head}..{tag}")),
        ("only dots", "..".to_owned()),
        ("only a dot", ".".to_owned()),
        ("four parts", format!("{good}.{tag}")),
        ("five parts", format!("{good}.{payload}.{tag}")),
        ("a dot before", format!(".{good}")),
        ("a dot behind", format!("{good}.")),
        ("parts exchanged", format!("{payload}.{head}.{tag}")),
        ("signature before payload", format!("{head}.{tag}.{payload}")),
        ("a space inside", format!("{head} .{payload}.{tag}")),
        ("a tab inside", format!("{head}.\t{payload}.{tag}")),
        ("quoted", format!("\"{good}\"")),
        ("escaped", good.replace('.', "%2e")),
        ("upper case", good.to_uppercase()),
        ("the header twice", format!("{head}.{head}.{tag}")),
        ("very long", format!("{head}.{}.{tag}", "A".repeat(20_000))),
        ("not Latin", "é.ü.ß".to_owned()),
        ("a word", "undefined".to_owned()),
        ("SQL", "' OR '1'='1".to_owned()),
    ]
    .map(|(name, token)| (name.to_owned(), token))
    .into();
    for at in (0..good.len()).step_by(17).filter(|at| good.as_bytes()[*at] != b'.') {
        let other = if good.as_bytes()[at] == b'A' { "B" } else { "A" };
        all.push((format!("character {at}"), format!("{}{other}{}", &good[..at], &good[at + 1..])));
    }
    all
}

/// The last of 43 characters carries four bits that mean something and two that do not.
fn other_spelling(tag: &str) -> String {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let at = ALPHABET.find(tag.chars().last().unwrap()).unwrap();
    format!("{}{}", &tag[..tag.len() - 1], &ALPHABET[at ^ 1..=at ^ 1])
}
