//! Declaration of status enums.

/// Declares a library's status enum: for each status its name, number, and descriptions.
#[macro_export]
macro_rules! statuses {
    (
        $(#[$meta:meta])*
        $visibility:vis enum $name:ident {
            $($(#[$of_one:meta])* $status:ident $code:literal $($text:literal)+;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(i32)]
        #[allow(dead_code, reason = "the list is complete, so that every number has its texts")]
        $visibility enum $name {
            $($(#[$of_one])* $status = $code,)*
        }

        #[allow(dead_code, reason = "not every library uses all of these functions")]
        impl $name {
            /// Every status.
            $visibility const ALL: &[Self] = &[$(Self::$status),*];

            /// The status with this number.
            #[must_use]
            $visibility fn from_code(code: i32) -> Option<Self> {
                match code {
                    $($code => Some(Self::$status),)*
                    _ => None,
                }
            }

            /// Its descriptions.
            #[must_use]
            $visibility fn texts(self) -> &'static [&'static std::ffi::CStr] {
                match self {
                    $(Self::$status => &[$($text),*],)*
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    statuses! {
        enum Status {
            Success 0 c"SUCCESS" c"done";
            Invalid 7 c"INVALID" c"an argument is wrong";
        }
    }

    #[test]
    fn statuses_are_found_by_number() {
        for &status in Status::ALL {
            assert_eq!(Status::from_code(status as i32), Some(status));
        }
        assert_eq!(Status::from_code(1), None);
        assert_eq!(Status::Invalid.texts(), [c"INVALID", c"an argument is wrong"]);
        assert_eq!(Status::Success.texts()[1], c"done");
    }
}
