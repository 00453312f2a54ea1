//! The device: opening it for oneself, and the driver's counts of what went wrong on the line.

use super::{FlowControl, Options, Parity};
use crate::link::Trouble;
use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd},
};
use tokio_serial::{DataBits, ErrorKind, SerialPortBuilderExt, SerialStream, StopBits};

/// Opens the device raw, and so that no other process can (`TIOCEXCL`, `flock`).
///
/// # Errors
/// What kind of error, and its text.
pub(super) fn open(options: &Options) -> Result<SerialStream, (Trouble, String)> {
    let Some(path) = options.device.to_str() else {
        return Err((Trouble::Configuration, "expected a path of UTF-8".to_owned()));
    };
    let opened = tokio_serial::new(path, options.baud)
        .data_bits(match options.data_bits {
            5 => DataBits::Five,
            6 => DataBits::Six,
            7 => DataBits::Seven,
            _ => DataBits::Eight,
        })
        .parity(match options.parity {
            Parity::None => tokio_serial::Parity::None,
            Parity::Even => tokio_serial::Parity::Even,
            Parity::Odd => tokio_serial::Parity::Odd,
        })
        .stop_bits(if options.stop_bits == 2 { StopBits::Two } else { StopBits::One })
        .flow_control(match options.flow_control {
            FlowControl::None => tokio_serial::FlowControl::None,
            FlowControl::Hardware => tokio_serial::FlowControl::Hardware,
            FlowControl::Software => tokio_serial::FlowControl::Software,
        })
        .exclusive(true)
        .open_native_async();
    opened.map_err(|error| {
        let trouble = match error.kind() {
            ErrorKind::InvalidInput | ErrorKind::Io(io::ErrorKind::PermissionDenied) => Trouble::Configuration,
            // Not plugged in, or taken by another process.
            _ => Trouble::Transient,
        };
        (trouble, error.to_string())
    })
}

/// The driver's counts since it was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    framing: u32,
    overrun: u32,
    parity: u32,
    breaks: u32,
    buffer_overrun: u32,
}

impl Counts {
    /// What came since `before`, by name.
    pub fn since(self, before: Self) -> [(&'static str, u64); 5] {
        let more = |now: u32, then: u32| u64::from(now.wrapping_sub(then));
        [
            ("framing-errors", more(self.framing, before.framing)),
            ("overruns", more(self.overrun, before.overrun)),
            ("parity-errors", more(self.parity, before.parity)),
            ("breaks", more(self.breaks, before.breaks)),
            ("buffer-overruns", more(self.buffer_overrun, before.buffer_overrun)),
        ]
    }

    /// None where the driver counts nothing, as that of a pseudo-terminal.
    pub fn of(port: BorrowedFd<'_>) -> Option<Self> {
        /// `struct serial_icounter_struct` of linux/serial.h.
        #[repr(C)]
        #[derive(Default)]
        struct Kernel {
            _lines_and_bytes: [libc::c_int; 6],
            framing: libc::c_int,
            overrun: libc::c_int,
            parity: libc::c_int,
            breaks: libc::c_int,
            buffer_overrun: libc::c_int,
            _reserved: [libc::c_int; 9],
        }
        let mut kernel = Kernel::default();
        // SAFETY: the descriptor is open, and the kernel writes one such structure, which is plain numbers.
        let done = unsafe { libc::ioctl(port.as_raw_fd(), libc::TIOCGICOUNT, &raw mut kernel) };
        let count = |n: libc::c_int| n.cast_unsigned();
        (done == 0).then(|| Self {
            framing: count(kernel.framing),
            overrun: count(kernel.overrun),
            parity: count(kernel.parity),
            breaks: count(kernel.breaks),
            buffer_overrun: count(kernel.buffer_overrun),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_wrap_around_are_differences_still() {
        let before = Counts { overrun: u32::MAX, ..Counts::default() };
        let more = Counts { overrun: 1, breaks: 3, ..before }.since(before);
        assert_eq!(more.iter().filter(|(_, n)| *n > 0).collect::<Vec<_>>(), [&("overruns", 2), &("breaks", 3)]);
    }
}
