//! The plugin's options: one `name=value` per argument from QEMU.

use std::path::PathBuf;

use crate::pins::Pins;

const TAKES: &str =
    "out=FILE, scope=NAME, exceptions=on|off, and pins=ADDRESS or set=ADDRESS,clear=ADDRESS";

#[derive(Debug)]
pub struct Settings {
    pub out: PathBuf,
    pub scope: String,
    pub pins: Pins,
    pub exceptions: bool,
}

impl Settings {
    pub fn parse(arguments: &[String], target: &str) -> Result<Self, String> {
        let (mut out, mut scope, mut exceptions) = (None, target, false);
        let (mut base, mut set, mut clear) = (None, None, None);
        for argument in arguments {
            let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
            match name {
                "out" if !value.is_empty() => out = Some(PathBuf::from(value)),
                "scope"
                    if !value.is_empty()
                        && !value.contains(|c: char| c.is_whitespace() || c == '$') =>
                {
                    scope = value
                }
                "exceptions" => exceptions = switch(argument, value)?,
                "pins" => base = Some(address(argument, value)?),
                "set" => set = Some(address(argument, value)?),
                "clear" => clear = Some(address(argument, value)?),
                _ => return Err(format!("`{argument}`: it takes {TAKES}")),
            }
        }
        let pins = match (base, set, clear) {
            (Some(base), None, None) => Pins::Words { base },
            (None, Some(set), Some(clear)) => Pins::Masks { set, clear },
            _ => {
                return Err(
                    "say where the pins are: pins=ADDRESS, or set=ADDRESS,clear=ADDRESS".to_owned()
                );
            }
        };
        if matches!(pins, Pins::Masks { .. }) && target != "riscv32" {
            return Err(
                "set= and clear= are for riscv32: what another processor stores is not known"
                    .to_owned(),
            );
        }
        if exceptions && target != "arm" {
            return Err("exceptions=on is for arm, and there for Cortex-M".to_owned());
        }
        let out = out.ok_or("say where the waveform goes: out=FILE")?;
        Ok(Self { out, scope: scope.to_owned(), pins, exceptions })
    }
}

fn address(argument: &str, value: &str) -> Result<u64, String> {
    let digits = value.strip_prefix("0x").ok_or(());
    digits
        .and_then(|digits| u32::from_str_radix(digits, 16).map_err(|_| ()))
        .map(u64::from)
        .map_err(|()| format!("`{argument}`: an address looks like 0x42400300"))
}

fn switch(argument: &str, value: &str) -> Result<bool, String> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("`{argument}`: on or off")),
    }
}

/// The number that a text is, in hexadecimal after `0x`.
pub fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
