//! Enumerations of `cuda.h`: their members' names and numbers.

/// Declares an enumeration with the numbers of its members, and `from_number`, which finds a member by its number. The
/// text in a declaration is the error message for any other number.
macro_rules! enumeration {
    (
        $(#[$meta:meta])*
        $name:ident, $unknown:literal { $($(#[$member_meta:meta])* $member:ident = $number:literal,)* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name {
            $($(#[$member_meta])* $member = $number,)*
        }

        impl $name {
            /// The member with this number.
            ///
            /// # Errors
            /// `INVALID_VALUE` if no member has this number.
            pub(crate) fn from_number(number: u32) -> $crate::abi::error::Result<Self> {
                match number {
                    $($number => Ok(Self::$member),)*
                    _ => Err($crate::abi::error::Code::INVALID_VALUE.because(format!($unknown, number))),
                }
            }
        }
    };
}

pub(crate) use enumeration;
