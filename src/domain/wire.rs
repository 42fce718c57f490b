//! What has one stable text outside the program: in the database, in JSON, in paths and in metrics.

/// Declares an enum from one list of texts, with `ALL`, `as_str`, `Display`, `FromStr`, serde and its schema. The texts are
/// stored and published: a variant may be renamed, its text may not.
#[macro_export]
macro_rules! wire_enum {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $name { $($(#[$variant_meta])* $variant,)+ }

        impl $name {
            /// Every variant, in the order of declaration.
            $vis const ALL: [$name; [$($text),+].len()] = [$($name::$variant),+];

            /// The stable text of the variant.
            $vis const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text,)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = ();
            fn from_str(text: &str) -> Result<Self, ()> {
                $name::ALL.into_iter().find(|variant| variant.as_str() == text).ok_or(())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'_, str> as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(|()| serde::de::Error::unknown_variant(&text, &[$($text),+]))
            }
        }

        $crate::wire_text!(@schema $name, false, {"type": "string", "enum": [$($text),+]});
    };
}

/// Gives a type the text of its `Display` and `FromStr` in JSON too, and the schema of this text if there is one. With
/// `inline`, the type is only written, and its schema has no name.
#[macro_export]
macro_rules! wire_text {
    (@serialize $name:ident) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    };
    (@schema $name:ident, $is_inline:literal, $schema:tt) => {
        impl $crate::wire::schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                $is_inline
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut $crate::wire::schemars::SchemaGenerator) -> $crate::wire::schemars::Schema {
                $crate::wire::schemars::json_schema!($schema)
            }
        }
    };
    ($name:ident, inline $schema:tt) => {
        $crate::wire_text!(@serialize $name);
        $crate::wire_text!(@schema $name, true, $schema);
    };
    ($name:ident $(, $schema:tt)?) => {
        $crate::wire_text!(@serialize $name);

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'_, str> as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        $($crate::wire_text!(@schema $name, false, $schema);)?
    };
}

// For the macros, in crates that do not name it themselves.
#[doc(hidden)]
pub use schemars;
pub use wire_enum;
pub use wire_text;

#[cfg(test)]
mod tests {
    wire_enum! {
        enum Size { Small = "small", ExtraLarge = "extra_large", }
    }

    #[test]
    fn a_variant_is_read_back_from_its_text_everywhere() {
        assert_eq!(Size::ALL, [Size::Small, Size::ExtraLarge]);
        for size in Size::ALL {
            assert_eq!(size.to_string(), size.as_str());
            assert_eq!(size.as_str().parse(), Ok(size));
            let json = serde_json::to_string(&size).unwrap();
            assert_eq!(json, format!("\"{size}\""));
            assert_eq!(serde_json::from_str::<Size>(&json).unwrap(), size);
        }
        assert_eq!("Small".parse::<Size>(), Err(()));
        let error = serde_json::from_str::<Size>("\"tiny\"").unwrap_err();
        assert!(error.to_string().starts_with("unknown variant `tiny`, expected `small` or `extra_large`"), "{error}");
    }
}
