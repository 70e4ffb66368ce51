//! Names of options' values: printing, parsing, and the error for an unknown name.

use thiserror::Error;

/// The error for a text that is not the name of any value of an option.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{given:?} is not a {what}: choose one of {known}")]
pub struct UnknownName {
    /// The setting that the values select, such as "normalisation".
    pub what: &'static str,
    /// The text.
    pub given: String,
    /// The valid names, separated by commas.
    pub known: String,
}

/// Gives each value of an enum a name, and implements `Display` and `FromStr`. (Not clap's `ValueEnum`, because a page
/// in the browser uses this crate, too, and because help would list the values twice.)
#[macro_export]
macro_rules! written_by_name {
    ($type:ty, $what:literal, $($value:ident: $name:literal),+ $(,)?) => {
        impl $type {
            /// All values.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            /// The name on command lines and in files.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::UnknownName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.into_iter().find(|value| value.name() == text);
                found.ok_or_else(|| $crate::UnknownName {
                    what: $what,
                    given: text.into(),
                    known: Self::ALL.map(Self::name).join(", "),
                })
            }
        }
    };
}
