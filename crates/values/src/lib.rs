//! Value types of the domain: parsed once, valid from then on.
//!
//! A [`Currency`] is always an ISO 4217 currency, an [`E164`] a dialable number, a [`Text`] within its length and free
//! of control characters. Parsing anything else fails with an [`Invalid`], whose text is written for the API's caller.
//!
//! Each type has three forms: the Rust value, JSON (serde and a matching JSON schema) and a database column
//! ([`Stored`]). A rule that a JSON schema cannot express has a named `format`: [`formats`] maps the name to its check
//! and [`reason`] to the error text. A schema with a `pattern` always has a `format` too, so the text fits both.
//!
//! This crate does no I/O and reads neither the clock nor randomness.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

mod ascii;
mod change;
mod cidr;
mod column;
mod country;
mod cron;
mod currency;
mod digits;
mod doc_kind;
mod e164;
mod email;
pub mod id;
mod list;
mod locale;
mod markup;
mod money;
mod money_wire;
mod new_password;
mod public_ip;
mod role;
#[doc(hidden)]
pub mod scalar;
mod sip_uri;
mod stored;
mod text;
mod text_enum;
mod text_form;
mod time;
mod time_wire;
mod time_zone;
mod vat_id;
mod web_url;
mod words;

pub use ascii::push_number;
pub use change::Change;
pub use cidr::{Cidr, address_sort_key};
pub use column::{Cell, Column, Kind, Param, Raw, Value};
pub use country::Country;
pub use cron::Cron;
pub use currency::Currency;
pub use digits::Digits;
pub use doc_kind::DocKind;
pub use e164::E164;
pub use email::Email;
pub use id::{
    AccountId, CallId, CardVerificationId, ChargebackId, IntakeDocumentId, IntakeId, IpAllowEntryId, KybDocumentId,
    KybId, PasskeyId, PaymentId, PaymentMethodId, RatePlanId, RatePlanVersionId, RefundId, SessionId, TrunkId,
    UpstreamId, UserId, parse_uuid,
};
pub use list::List;
pub use locale::Locale;
pub use markup::{Markup, PlanMarkup};
pub use money::{Money, MoneyError};
pub use money_wire::ExactMoney;
pub use new_password::{NewPassword, OWN_WORDS_REASON};
pub use public_ip::is_public_ip;
pub use role::{AccountRole, Role, Roles};
pub use sip_uri::SipUri;
pub use stored::Stored;
pub use text::{BLANK_REASON, Secret, Text};
pub use time::Time;
pub use time_wire::{Date, Rfc3339, UnixMillis, UnixSeconds};
pub use time_zone::TimeZone;
pub use vat_id::{VatId, is_in_union};
pub use web_url::WebUrl;
pub use words::Words;

use text_form::TextForm;

/// Why a value was refused, as the API's caller reads it after the field's name: "must be an E.164 number such as
/// +31201234567".
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invalid(pub Cow<'static, str>);

impl Invalid {
    pub const fn because(reason: &'static str) -> Invalid {
        Invalid(Cow::Borrowed(reason))
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Invalid {}

/// Copies the description of `documented`: the doc comment of a type made by a macro becomes its API description.
#[doc(hidden)]
pub fn with_description(mut schema: schemars::Schema, documented: &schemars::Schema) -> schemars::Schema {
    if let Some(description) = documented.get("description") {
        schema.insert("description".to_owned(), description.clone());
    }
    schema
}

/// The name of a JSON schema `format` and its check.
pub type Format = (&'static str, fn(&str) -> bool);

/// The formats of text forms.
const TEXT_FORMS: [Format; 14] = [
    (Cidr::FORMAT, parses::<Cidr>),
    (Country::FORMAT, parses::<Country>),
    (Cron::FORMAT, parses::<Cron>),
    (Currency::FORMAT, parses::<Currency>),
    (Date::FORMAT, parses::<Date>),
    (Digits::FORMAT, parses::<Digits>),
    (DocKind::FORMAT, parses::<DocKind>),
    (E164::FORMAT, parses::<E164>),
    (Email::FORMAT, parses::<Email>),
    (Locale::FORMAT, parses::<Locale>),
    (Rfc3339::FORMAT, parses::<Rfc3339>),
    (SipUri::FORMAT, parses::<SipUri>),
    (TimeZone::FORMAT, parses::<TimeZone>),
    (WebUrl::FORMAT, parses::<WebUrl>),
];

const OTHER_FORMATS: [Format; 5] = [
    (money_wire::DECIMAL_FORMAT, money::is_decimal),
    (id::UUID_FORMAT, id::is_uuid),
    (id::PREFIXED_FORMAT, id::is_prefixed),
    (text::TEXT_FORMAT, text::is_clean),
    (text::SECRET_FORMAT, text::has_no_nul),
];

/// The check of every `format` that the schemas of this crate name.
pub fn formats() -> impl Iterator<Item = Format> {
    TEXT_FORMS.into_iter().chain(OTHER_FORMATS)
}

/// Whether the check of a format refuses all that the pattern beside it refuses.
pub fn includes_pattern(format: &str) -> bool {
    TEXT_FORMS.iter().any(|(name, _)| *name == format)
}

/// The error text for a value that is not in this `format`.
pub fn reason(format: &str) -> &'static str {
    match format {
        Cidr::FORMAT => Cidr::REASON,
        Country::FORMAT => Country::REASON,
        Cron::FORMAT => Cron::REASON,
        Currency::FORMAT => Currency::REASON,
        Date::FORMAT => Date::REASON,
        Digits::FORMAT => Digits::REASON,
        DocKind::FORMAT => DocKind::REASON,
        E164::FORMAT => E164::REASON,
        Email::FORMAT => Email::REASON,
        Locale::FORMAT => Locale::REASON,
        Rfc3339::FORMAT => Rfc3339::REASON,
        SipUri::FORMAT => SipUri::REASON,
        TimeZone::FORMAT => TimeZone::REASON,
        WebUrl::FORMAT => WebUrl::REASON,
        money_wire::DECIMAL_FORMAT => money::DECIMAL_REASON,
        id::UUID_FORMAT => id::UUID_REASON,
        id::PREFIXED_FORMAT => id::PREFIXED_REASON,
        text::TEXT_FORMAT => text::TEXT_REASON,
        text::SECRET_FORMAT => text::SECRET_REASON,
        _ => "is not in the expected format",
    }
}

fn parses<T: FromStr>(text: &str) -> bool {
    text.parse::<T>().is_ok()
}

#[cfg(test)]
mod tests;
