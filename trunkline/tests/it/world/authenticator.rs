//! An authenticator app: RFC 6238 codes, implemented apart from the service so that the two check each other.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use aws_lc_rs::hmac::{HMAC_SHA1_FOR_LEGACY_USE_ONLY, Key, sign};
use data_encoding::BASE32_NOPAD;
use serde_json::{Value, json};

use super::World;
use super::client::{Answer, Client};

const STEP_SECONDS: i64 = 30;

pub struct Authenticator {
    /// As it was shown.
    pub secret: String,
    seed: Vec<u8>,
    pub recovery_codes: Vec<String>,
}

impl Authenticator {
    pub fn new(secret: &str) -> Authenticator {
        let seed = BASE32_NOPAD.decode(secret.as_bytes()).expect("the secret is base32");
        Authenticator { secret: secret.to_owned(), seed, recovery_codes: Vec::new() }
    }

    /// Enrols at `/admin/2fa` or `/me/2fa`, but does not confirm.
    pub async fn enrol(caller: &Client, place: &str) -> Authenticator {
        let enrolment = caller.post(&format!("{place}/enroll"), json!({})).await.ok();
        Authenticator::new(enrolment["secret"].as_str().unwrap())
    }

    /// Enrols and confirms.
    pub async fn confirmed(world: &World, caller: &Client, place: &str) -> Authenticator {
        let mut app = Authenticator::enrol(caller, place).await;
        let code = json!({"code": app.fresh(world).await});
        let codes = caller.post(&format!("{place}/confirm"), code).await.ok();
        app.recovery_codes = texts(&codes["recovery_codes"]);
        app
    }

    /// The code of the step that lies so many steps from now.
    pub fn code(&self, world: &World, steps: i64) -> String {
        let step = world.seconds().div_euclid(STEP_SECONDS) + steps;
        let key = Key::new(HMAC_SHA1_FOR_LEGACY_USE_ONLY, &self.seed);
        let tag = sign(&key, &step.to_be_bytes());
        let bytes = tag.as_ref();
        let at = usize::from(bytes[19] & 15);
        let number = u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) & 0x7fff_ffff;
        format!("{:06}", number % 1_000_000)
    }

    /// A code that was never used: time moves on to the beginning of the next step.
    pub async fn fresh(&self, world: &World) -> String {
        world.advance_to_next(STEP_SECONDS).await;
        self.code(world, 0)
    }

    /// Six digits that are the code of no step near now.
    pub fn wrong(&self, world: &World) -> String {
        let near: Vec<String> = (-2..=2).map(|steps| self.code(world, steps)).collect();
        (0..).map(|n| format!("{n:06}")).find(|code| !near.contains(code)).unwrap()
    }
}

pub fn texts(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|item| item.as_str().unwrap().to_owned()).collect()
}

impl World {
    /// The `tmp_token` of a user with a second factor.
    pub async fn tmp_token(&self, email: &str) -> String {
        let asked = self.try_sign_in(email, super::PASSWORD).await.ok();
        assert_eq!(asked["status"], "2fa_required");
        asked["tmp_token"].as_str().unwrap().to_owned()
    }

    pub async fn verify(&self, tmp_token: &str, code: &str) -> Answer {
        self.anyone().post("/admin/2fa/verify", json!({"tmp_token": tmp_token, "code": code})).await
    }
}
