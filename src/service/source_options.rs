//! From the config's tables of sources to what each type of source takes.

use crate::config::{self, After, FileSource, FileStart, Format, SerialSource, Source, SpoolSource};
use crate::ingest::{self, file, serial, spool};

/// Of a file that is followed.
pub fn file(source: &Source, from: &FileSource, event_bytes_max: usize) -> file::Options {
    file::Options {
        format: format(&from.format),
        start: match from.start {
            FileStart::Beginning => file::Start::Beginning,
            FileStart::End => file::Start::End,
        },
        default_id: !source.event.id_given,
        poll_interval: from.poll_interval.duration(),
        rotate_wait: from.rotate_wait.duration(),
        ..file::Options::new(&source.name, from.path.clone(), event_bytes_max)
    }
}

/// Of a spool folder.
pub fn spool(source: &Source, from: &SpoolSource, event_bytes_max: usize) -> spool::Options {
    let usual = spool::Options::new(&source.name, from.path.clone(), event_bytes_max);
    spool::Options {
        format: format(&from.format),
        after: match from.after {
            After::Move => spool::After::Move,
            After::Delete => spool::After::Delete,
        },
        done: from.done.clone().unwrap_or_else(|| usual.done.clone()),
        failed: from.failed.clone().unwrap_or_else(|| usual.failed.clone()),
        default_id: !source.event.id_given,
        poll_interval: from.poll_interval.duration(),
        ..usual
    }
}

/// Of a serial line.
pub fn serial(source: &Source, from: &SerialSource, event_bytes_max: usize) -> serial::Options {
    serial::Options {
        baud: from.baud,
        data_bits: from.data_bits,
        parity: match from.parity {
            config::Parity::None => serial::Parity::None,
            config::Parity::Even => serial::Parity::Even,
            config::Parity::Odd => serial::Parity::Odd,
        },
        stop_bits: from.stop_bits,
        flow_control: match from.flow_control {
            config::FlowControl::None => serial::FlowControl::None,
            config::FlowControl::Hardware => serial::FlowControl::Hardware,
            config::FlowControl::Software => serial::FlowControl::Software,
        },
        framing: match from.framing {
            config::Framing::Lines => serial::Framing::Lines,
            config::Framing::Frames => serial::Framing::Frames,
        },
        reply: match from.reply {
            config::Reply::Ack => serial::Reply::Ack,
            config::Reply::Verdict => serial::Reply::Verdict,
            config::Reply::None => serial::Reply::None,
        },
        ..serial::Options::new(&source.name, from.device.clone(), event_bytes_max)
    }
}

fn format(format: &Format) -> ingest::Format {
    match format {
        Format::Ndjson => ingest::Format::Ndjson,
        Format::Csv(form) => ingest::Format::Csv(form.clone()),
    }
}
