//! Typed ids: the compiler tells a user's id from an account's.
//!
//! In memory and in the database an id is a UUID (version 7, so that ids sort by age). In JSON some types have a
//! prefix, such as `usr_` and 32 hex digits; the others are hyphenated UUIDs. Requests may use either form.

use uuid::Uuid;

use super::{Invalid, Time};

pub(super) const UUID_FORMAT: &str = "uuid";
pub(super) const UUID_REASON: &str = "must be a UUID such as 0198c0de-7a3b-7c4d-8e5f-001122334455";
pub(super) const PREFIXED_FORMAT: &str = "prefixed-id";
pub(super) const PREFIXED_REASON: &str = "must be an id of the right kind, or its UUID";

/// 32 hex digits, bare or in the hyphenated groups of a UUID.
#[doc(hidden)]
pub const HEX_PATTERN: &str = "([0-9a-fA-F]{32}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})";

/// Parses a hyphenated or simple UUID; the braced and URN forms are refused.
pub fn parse_uuid(text: &str) -> Option<Uuid> {
    matches!(text.len(), 32 | 36).then(|| Uuid::try_parse(text).ok()).flatten()
}

pub(super) fn is_uuid(text: &str) -> bool {
    parse_uuid(text).is_some()
}

/// Whether this is an id with any prefix or none; the pattern of the schema checks the prefix.
pub(super) fn is_prefixed(text: &str) -> bool {
    is_uuid(text.split_once('_').map_or(text, |(_, hex)| hex))
}

/// Parses an id for the types that [`id!`](crate::id!) makes.
#[doc(hidden)]
pub fn parse(prefix: &'static str, text: &str) -> Result<Uuid, Invalid> {
    let hex = text.strip_prefix(prefix).unwrap_or(text);
    parse_uuid(hex).ok_or_else(|| invalid(prefix))
}

#[doc(hidden)]
pub fn invalid(prefix: &'static str) -> Invalid {
    match prefix {
        "" => Invalid::because(UUID_REASON),
        _ => Invalid(format!("must be {prefix} and 32 hex digits, or a UUID").into()),
    }
}

/// Responses use one form; requests may use any.
#[doc(hidden)]
pub fn schema(prefix: &'static str, generator: &schemars::SchemaGenerator) -> schemars::Schema {
    let example = "0198c0de7a3b7c4d8e5f001122334455";
    match (prefix, generator.contract().is_serialize()) {
        ("", _) => schemars::json_schema!({
            "type": "string", "format": UUID_FORMAT, "pattern": format!("^{HEX_PATTERN}$"),
            "examples": ["0198c0de-7a3b-7c4d-8e5f-001122334455"],
        }),
        (_, true) => schemars::json_schema!({
            "type": "string", "format": PREFIXED_FORMAT, "pattern": format!("^{prefix}[0-9a-f]{{32}}$"),
            "examples": [format!("{prefix}{example}")],
        }),
        (_, false) => schemars::json_schema!({
            "type": "string", "format": PREFIXED_FORMAT, "pattern": format!("^({prefix})?{HEX_PATTERN}$"),
            "examples": [format!("{prefix}{example}")],
        }),
    }
}

/// A typed id. Its doc comment is its description in the API.
///
/// ```
/// values::id! {
///     /// Id of an uploaded document.
///     pub struct DocumentId = "kybd_";
/// }
/// values::id! {
///     /// Id of a trunk.
///     pub struct TrunkId;
/// }
///
/// let id: DocumentId = "0198C0DE-7A3B-7C4D-8E5F-001122334455".parse().unwrap();
/// assert_eq!(id.to_string(), "kybd_0198c0de7a3b7c4d8e5f001122334455");
/// assert_eq!(TrunkId::new(id.uuid()).to_string(), "0198c0de-7a3b-7c4d-8e5f-001122334455");
/// ```
#[macro_export]
macro_rules! id {
    ($(#[$meta:meta])* $visibility:vis struct $name:ident;) => {
        $crate::id! { $(#[$meta])* $visibility struct $name = ""; }
    };
    ($(#[$meta:meta])* $visibility:vis struct $name:ident = $prefix:literal;) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        $visibility struct $name(::uuid::Uuid);

        impl $name {
            pub const fn new(uuid: ::uuid::Uuid) -> Self {
                $name(uuid)
            }

            pub const fn uuid(self) -> ::uuid::Uuid {
                self.0
            }
        }

        impl From<::uuid::Uuid> for $name {
            fn from(uuid: ::uuid::Uuid) -> Self {
                $name(uuid)
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match $prefix {
                    "" => write!(f, "{}", self.0.hyphenated()),
                    prefix => write!(f, "{prefix}{}", self.0.simple()),
                }
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::Invalid;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $crate::id::parse($prefix, text).map($name)
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::scalar::text(deserializer, || $crate::id::invalid($prefix))
            }
        }

        impl ::schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(generator: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                $(#[$meta])*
                #[allow(dead_code)]
                #[derive(::schemars::JsonSchema)]
                struct Documented;

                let documented = <Documented as ::schemars::JsonSchema>::json_schema(generator);
                $crate::with_description($crate::id::schema($prefix, generator), &documented)
            }
        }

        impl $crate::Stored for $name {
            type Raw = ::uuid::Uuid;

            fn to_raw(&self) -> ::uuid::Uuid {
                self.0
            }

            fn from_raw(raw: ::uuid::Uuid) -> Result<Self, $crate::Invalid> {
                Ok($name(raw))
            }
        }
    };
}

id! {
    /// Id of a user.
    pub struct UserId = "usr_";
}

id! {
    /// Id of an account, that is, of a customer's company.
    pub struct AccountId = "acc_";
}

id! {
    /// Id of a session: one sign-in and all tokens that follow from it.
    pub struct SessionId;
}

id! {
    /// Id of a passkey.
    pub struct PasskeyId;
}

id! {
    /// Id of a compliance intake.
    pub struct IntakeId;
}

id! {
    /// Id of a document of a compliance intake.
    pub struct IntakeDocumentId;
}

id! {
    /// Id of a KYB intake: `kyb_` and the UUID of its compliance intake.
    pub struct KybId = "kyb_";
}

id! {
    /// Id of a document of a KYB intake.
    pub struct KybDocumentId = "kybd_";
}

id! {
    /// Id of a card verification.
    pub struct CardVerificationId = "pmv_";
}

id! {
    /// Id of an upstream.
    pub struct UpstreamId;
}

id! {
    /// Id of a rate plan.
    pub struct RatePlanId;
}

id! {
    /// Id of a version of a rate plan.
    pub struct RatePlanVersionId;
}

id! {
    /// Id of a payment: a top-up, a charge of a saved card, or the saving of a card.
    pub struct PaymentId;
}

id! {
    /// Id of a saved card.
    pub struct PaymentMethodId;
}

id! {
    /// Id of a refund.
    pub struct RefundId;
}

id! {
    /// Id of a chargeback.
    pub struct ChargebackId;
}

id! {
    /// Id of a trunk.
    pub struct TrunkId;
}

id! {
    /// Id of an allow-list entry.
    pub struct IpAllowEntryId;
}

id! {
    /// Id of a call: its token while it is live, the id of its CDR afterwards.
    pub struct CallId;
}

impl CallId {
    /// When the call began, from the timestamp of its id; `None` if the UUID has none.
    pub fn started_at(self) -> Option<Time> {
        let millis = i64::try_from(self.0.as_u128() >> 80).ok()?;
        (self.0.get_version_num() == 7).then_some(Time::from_millis(millis))
    }

    /// What the ids of calls that began at this time or later are greater than, and all others less. Ids are in the
    /// order of their calls.
    pub fn first_at(time: Time) -> CallId {
        const MAX_MILLIS: u64 = (1 << 48) - 1;
        let millis = u64::try_from(time.millis()).unwrap_or_default();
        match millis > MAX_MILLIS {
            true => CallId(Uuid::max()),
            false => CallId(Uuid::from_u128(u128::from(millis) << 80)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::Stored;

    #[test]
    fn ids_of_calls_are_in_the_order_of_their_starts() {
        let at = Time::from_millis;
        let id = CallId::new("0198c0de-7a3b-7c4d-8e5f-001122334455".parse().unwrap());
        let start = id.started_at().unwrap();
        assert!(CallId::first_at(start) < id && id < CallId::first_at(at(start.millis() + 1)));
        assert!(CallId::first_at(at(-1)) < id && id < CallId::first_at(at(i64::MAX)));
    }

    proptest! {
        #[test]
        fn an_id_round_trips_through_json_and_its_column(bits: u128) {
            let user = UserId::new(Uuid::from_u128(bits));
            prop_assert_eq!(user.to_string().parse(), Ok(user));
            prop_assert_eq!(serde_json::from_value::<UserId>(json!(user)).unwrap(), user);
            prop_assert_eq!(UserId::from_raw(user.to_raw()), Ok(user));
            let session = SessionId::new(user.uuid());
            prop_assert_eq!(session.to_string().parse(), Ok(session));
        }

        #[test]
        fn every_form_and_case_of_an_id_parses_to_the_same_id(bits: u128) {
            let user = UserId::new(Uuid::from_u128(bits));
            let (simple, hyphenated) = (user.uuid().simple().to_string(), user.uuid().hyphenated().to_string());
            for hex in [simple.to_uppercase(), hyphenated.to_uppercase(), simple, hyphenated] {
                for text in [format!("usr_{hex}"), hex] {
                    prop_assert_eq!(text.parse(), Ok(user));
                    prop_assert!(is_prefixed(&text));
                }
            }
        }
    }

    #[test]
    fn other_prefixes_and_shapes_are_refused() {
        let hex = "0198c0de7a3b7c4d8e5f001122334455";
        let hyphenated = "0198c0de-7a3b-7c4d-8e5f-001122334455";
        for text in [
            format!("acc_{hex}"),
            format!("USR_{hex}"),
            format!("usr-{hex}"),
            format!("usr_usr_{hex}"),
            format!(" usr_{hex}"),
            format!("usr_{}", &hex[1..]),
            format!("{{{hyphenated}}}"),
            format!("urn:uuid:{hyphenated}"),
            format!("{}g", &hex[1..]),
            "usr_".into(),
            String::new(),
        ] {
            assert!(text.parse::<UserId>().is_err(), "{text}");
        }
        assert!(format!("usr_{hex}").parse::<SessionId>().is_err());
        let error = serde_json::from_value::<UserId>(json!(5)).unwrap_err();
        assert_eq!(error.to_string(), "must be usr_ and 32 hex digits, or a UUID");
    }
}
