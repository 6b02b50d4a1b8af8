//! Commands on archives and compressed files. Archives are strangers' data: they are read by bounded readers.

use super::Command;

mod codec;
mod gzip;
mod packers;
mod scripts;
mod tar;
mod unzip;
mod zip;
mod zipinfo;

pub(in crate::commands) const COMMANDS: &[Command] = &[
    gzip::GUNZIP,
    gzip::GZIP,
    gzip::ZCAT,
    packers::BUNZIP2,
    packers::BZCAT,
    packers::BZIP2,
    packers::UNXZ,
    packers::XZ,
    packers::XZCAT,
    tar::TAR,
    unzip::UNZIP,
    zip::ZIP,
    zipinfo::ZIPINFO,
];

/// The commands that are lines of the shell over the others.
pub(in crate::commands) const SCRIPTS: &[Command] = scripts::ALL;
