//! Enums that are strings in JSON and in the database.

/// An enum whose variants are fixed strings. Its doc comment is its description in the API.
///
/// ```
/// values::text_enum! {
///     /// Role of a user.
///     pub enum Role {
///         Customer = "customer",
///         /// May do everything.
///         Admin = "admin",
///     }
/// }
/// assert_eq!("admin".parse(), Ok(Role::Admin));
/// assert_eq!(Role::Customer.as_str(), "customer");
/// ```
#[macro_export]
macro_rules! text_enum {
    ($(#[$meta:meta])* $visibility:vis enum $name:ident {
        $($(#[$variant_meta:meta])* $variant:ident = $word:literal),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        $visibility enum $name {
            $($(#[$variant_meta])* $variant),+
        }

        impl $name {
            /// All variants, in the order of the declaration.
            #[allow(dead_code)]
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $word),+
                }
            }

            fn not_a_variant() -> $crate::Invalid {
                $crate::Invalid(format!("must be one of: {}", [$($word),+].join(", ")).into())
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::Invalid;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($word => Ok($name::$variant),)+
                    _ => Err(Self::not_a_variant()),
                }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::scalar::text(deserializer, Self::not_a_variant)
            }
        }

        impl ::schemars::JsonSchema for $name {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(generator: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                $(#[$meta])*
                #[allow(dead_code)]
                #[derive(::schemars::JsonSchema)]
                struct Documented;

                let documented = <Documented as ::schemars::JsonSchema>::json_schema(generator);
                let choices = ::schemars::json_schema!({ "type": "string", "enum": [$($word),+] });
                $crate::with_description(choices, &documented)
            }
        }

        impl $crate::Stored for $name {
            type Raw = String;

            fn to_raw(&self) -> String {
                self.as_str().to_owned()
            }

            fn from_raw(raw: String) -> Result<Self, $crate::Invalid> {
                raw.parse()
            }
        }
    };
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use serde_json::json;

    use crate::Stored;

    text_enum! {
        /// How a number is reached.
        enum Kind {
            /// A landline.
            Local = "local",
            TollFree = "tollfree",
        }
    }

    #[test]
    fn every_variant_round_trips_through_text_json_and_its_column() {
        for &kind in Kind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
            assert_eq!(serde_json::from_value::<Kind>(serde_json::to_value(kind).unwrap()).unwrap(), kind);
            assert_eq!(Kind::from_raw(kind.to_raw()), Ok(kind));
        }
    }

    #[test]
    fn any_other_value_is_refused_with_the_allowed_ones() {
        for other in [json!("Local"), json!("local "), json!(""), json!("mobile"), json!(1), json!(null)] {
            let error = serde_json::from_value::<Kind>(other).unwrap_err();
            assert_eq!(error.to_string(), "must be one of: local, tollfree");
        }
    }

    #[test]
    fn the_schema_lists_the_values_under_the_name_of_the_type() {
        let schema = schemars::schema_for!(Kind);
        assert_eq!(schema.get("title"), Some(&json!("Kind")));
        assert_eq!(schema.get("enum"), Some(&json!(["local", "tollfree"])));
    }
}
