//! Source `serial`: lines or frames of a device on a serial line.

use super::{CONTENT, of_type};
use crate::config::{Key, Kind, Preset, mapping::EVENT, section::Section};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SerialSource {
    pub device: PathBuf,
    /// Bits a second.
    pub baud: u32,
    /// 5 to 8.
    pub data_bits: u8,
    pub parity: Parity,
    /// 1 or 2.
    pub stop_bits: u8,
    pub flow_control: FlowControl,
    pub framing: Framing,
    pub reply: Reply,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parity {
    None,
    Even,
    Odd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowControl {
    None,
    /// RTS and CTS.
    Hardware,
    /// XON and XOFF.
    Software,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    Lines,
    /// COBS, ended by a zero byte, of payload and CRC-32.
    Frames,
}

/// What the device hears of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// `ACK id`, `NAK id reason`, `BUSY id`.
    Ack,
    /// The verdict or the problem.
    Verdict,
    /// Nothing: what comes while the daemon is down is lost.
    None,
}

const TYPE: Key = of_type("\"serial\"");
const DEVICE: Key = Key::new(
    "device",
    Kind::AbsolutePath,
    Preset::Required("\"/dev/serial/by-id/usb-FTDI_FT232R_A1B2C3-if00-port0\""),
    "The device; below /dev/serial/by-id its name stays when adapters are plugged anew.",
);
const BAUD: Key =
    Key::new("baud", Kind::Integer { min: 50, max: 4_000_000 }, Preset::Default("115200"), "Bits a second.");
const DATA_BITS: Key =
    Key::new("data-bits", Kind::Integer { min: 5, max: 8 }, Preset::Default("8"), "Bits a character; frames need 8.");
const PARITY: Key =
    Key::new("parity", Kind::OneOf(&["none", "even", "odd"]), Preset::Default("\"none\""), "The parity bit.");
const STOP_BITS: Key =
    Key::new("stop-bits", Kind::Integer { min: 1, max: 2 }, Preset::Default("1"), "Stop bits a character.");
const FLOW_CONTROL: Key = Key::new(
    "flow-control",
    Kind::OneOf(&["none", "hardware", "software"]),
    Preset::Default("\"none\""),
    "How either side holds the other up: RTS/CTS, or XON/XOFF (lines only). Without it a full buffer overruns.",
);
const FRAMING: Key = Key::new(
    "framing",
    Kind::OneOf(&["lines", "frames"]),
    Preset::Default("\"lines\""),
    "An event a line, or COBS frames, each ended by a zero byte, of payload and CRC-32.",
);
const REPLY: Key = Key::new(
    "reply",
    Kind::OneOf(&["ack", "verdict", "none"]),
    Preset::Default("\"ack\""),
    "What the device hears: ACK, NAK or BUSY with the id; the verdict or problem; nothing, and then events can be lost.",
);
pub(in crate::config) const KEYS: &[Key] =
    &[TYPE, DEVICE, BAUD, DATA_BITS, PARITY, STOP_BITS, FLOW_CONTROL, FRAMING, REPLY, CONTENT, EVENT];

pub(super) fn read(section: &mut Section<'_>) -> Option<SerialSource> {
    section.one_of(&TYPE, super::SOURCE_TYPES);
    let device = section.absolute_path(&DEVICE);
    let baud = u32::try_from(section.integer(&BAUD)).unwrap_or_default();
    let data_bits = u8::try_from(section.integer(&DATA_BITS)).unwrap_or_default();
    let parity = section.one_of(&PARITY, &[Parity::None, Parity::Even, Parity::Odd]);
    let stop_bits = u8::try_from(section.integer(&STOP_BITS)).unwrap_or_default();
    let flow_control =
        section.one_of(&FLOW_CONTROL, &[FlowControl::None, FlowControl::Hardware, FlowControl::Software]);
    let framing = section.one_of(&FRAMING, &[Framing::Lines, Framing::Frames]);
    let reply = section.one_of(&REPLY, &[Reply::Ack, Reply::Verdict, Reply::None]);
    if framing == Some(Framing::Frames) {
        if (1..8).contains(&data_bits) {
            section.fault(&DATA_BITS, "expected 8: a frame is made of whole bytes");
        }
        if flow_control == Some(FlowControl::Software) {
            section
                .fault(&FLOW_CONTROL, "expected \"none\" or \"hardware\": a frame may hold the bytes of XON and XOFF");
        }
    }
    Some(SerialSource {
        device: device?,
        baud,
        data_bits,
        parity: parity?,
        stop_bits,
        flow_control: flow_control?,
        framing: framing?,
        reply: reply?,
    })
}
