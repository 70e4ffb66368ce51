//! Declaration of enums of C headers.

/// Declares an enum of a C header: each member has a name, a number, and texts of type `str` or `CStr`.
#[macro_export]
macro_rules! c_enum {
    (
        $(#[$meta:meta])*
        $visibility:vis enum $name:ident: $text_type:ty {
            $($(#[$member_meta:meta])* $member:ident $code:literal $($text:literal)+;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(i32)]
        #[allow(dead_code, reason = "the list is complete, so that every number has its texts")]
        $visibility enum $name {
            $($(#[$member_meta])* $member = $code,)*
        }

        #[allow(dead_code, reason = "not every library uses all of these functions")]
        impl $name {
            /// All members.
            $visibility const ALL: &[Self] = &[$(Self::$member),*];

            /// The member with this number.
            #[must_use]
            $visibility fn from_code(code: i32) -> Option<Self> {
                match code {
                    $($code => Some(Self::$member),)*
                    _ => None,
                }
            }

            /// The texts of the member.
            #[must_use]
            $visibility fn texts(self) -> &'static [&'static $text_type] {
                match self {
                    $(Self::$member => &[$($text),*],)*
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    c_enum! {
        enum Status: std::ffi::CStr {
            Success 0 c"SUCCESS" c"done";
            Invalid 7 c"INVALID" c"an argument is wrong";
        }
    }

    #[test]
    fn members_are_found_by_number() {
        for &status in Status::ALL {
            assert_eq!(Status::from_code(status as i32), Some(status));
        }
        assert_eq!(Status::from_code(1), None);
        assert_eq!(Status::Invalid.texts(), [c"INVALID", c"an argument is wrong"]);
        assert_eq!(Status::Success.texts()[1], c"done");
    }
}
