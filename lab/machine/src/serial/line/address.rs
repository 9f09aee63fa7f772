//! The place of a serial line.

use std::{fmt, path::PathBuf, str::FromStr};

use anyhow::{Error, bail};
use serde::Deserialize;

/// The place of a serial line: `/dev/ttyUSB0`, `rfc2217://HOST:PORT` or `tcp://HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub enum Address {
    /// The absolute path of a device.
    Device(PathBuf),
    /// A terminal server, as `HOST:PORT`.
    Server {
        host: String,
        /// The connection carries the line's bytes alone: the server's rate stays as it is.
        is_raw: bool,
    },
}

const RFC2217: &str = "rfc2217://";
const RAW: &str = "tcp://";

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let server = [(RFC2217, false), (RAW, true)]
            .into_iter()
            .find_map(|(scheme, is_raw)| Some((text.strip_prefix(scheme)?, is_raw)));
        let Some((host, is_raw)) = server else {
            if !text.starts_with('/') {
                bail!(
                    "`{text}` is no serial line: write the device's path, as /dev/ttyUSB0, or a \
                     terminal server, as {RFC2217}HOST:PORT"
                );
            }
            return Ok(Self::Device(text.into()));
        };
        let port = host.rsplit_once(':').filter(|(host, _)| !host.is_empty());
        if port.is_none_or(|(_, port)| !port.parse::<u16>().is_ok_and(|port| port > 0)) {
            bail!("`{text}` names no port of a terminal server: write {RFC2217}HOST:PORT");
        }
        Ok(Self::Server { host: host.to_owned(), is_raw })
    }
}

impl TryFrom<String> for Address {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device(path) => path.display().fmt(f),
            Self::Server { host, is_raw: false } => write!(f, "{RFC2217}{host}"),
            Self::Server { host, is_raw: true } => write!(f, "{RAW}{host}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown() {
        for text in ["/dev/ttyUSB0", "rfc2217://lab:4001", "tcp://10.0.0.7:4001", "tcp://[::1]:1"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        for text in ["ttyUSB0", "rfc2217://lab", "tcp://:4001", "rfc2217://lab:0", "tcp://lab:x"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
