//! Enumerations of `cuda.h`: their members' names and numbers.

/// Declares an enumeration with the numbers of its members, and `of`, which finds a member by its number. The text
/// describes the error for any other number.
macro_rules! enumeration {
    (
        $(#[$meta:meta])*
        $name:ident, $unknown:literal { $($(#[$of_one:meta])* $member:ident = $number:literal,)* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name {
            $($(#[$of_one])* $member = $number,)*
        }

        impl $name {
            /// The member of a number.
            ///
            /// # Errors
            /// `INVALID_VALUE`
            pub(crate) fn of(number: u32) -> $crate::abi::error::Result<Self> {
                match number {
                    $($number => Ok(Self::$member),)*
                    _ => Err($crate::abi::error::Code::INVALID_VALUE.because(format!($unknown, number))),
                }
            }
        }
    };
}

pub(crate) use enumeration;
