//! Reads the text that `labgrid-client` prints (labgrid 26).

use anyhow::{Context, Result, ensure};

use super::super::{BAUDS, line::Address};

/// A place in the output of `labgrid-client -v places`.
#[derive(Debug, Default, PartialEq)]
pub struct Listed {
    name: String,
    tags: Vec<String>,
}

impl Listed {
    /// Returns whether the place has all of these tags, each `KEY=VALUE`.
    pub fn has(&self, tags: &[String]) -> bool {
        tags.iter().all(|tag| self.tags.contains(tag) || *tag == format!("name={}", self.name))
    }
}

/// The places in the output of `labgrid-client -v places`.
pub fn places(text: &str) -> Vec<Listed> {
    let mut places: Vec<Listed> = Vec::new();
    for line in text.lines() {
        let name = line.strip_prefix("Place '").and_then(|rest| rest.strip_suffix("':"));
        if let Some(name) = name {
            places.push(Listed { name: name.to_owned(), ..Listed::default() });
        } else if let (Some(place), Some(tags)) =
            (places.last_mut(), line.trim_start().strip_prefix("tags: "))
        {
            place.tags = tags.split(", ").map(str::to_owned).collect();
        }
    }
    places
}

/// The place that a reservation has, from the output of `labgrid-client wait`.
pub fn allocated(text: &str) -> Option<String> {
    let (_, allocations) = text.rsplit_once("allocations:")?;
    let name = allocations.lines().find_map(|line| line.trim().strip_prefix("main: "))?;
    Some(name.to_owned())
}

/// The resources of a locked place.
#[derive(Debug, PartialEq)]
pub struct Resources {
    /// The serial line of the board.
    pub line: Address,
    /// The rate of the line in bits a second, if the place has one.
    pub baud: Option<u32>,
    /// `true` if the place has a switch for the board's power.
    pub has_power: bool,
}

impl Resources {
    /// Reads the output of `labgrid-client show` for a locked place.
    ///
    /// # Errors
    /// If no serial line is on line.
    pub fn parse(text: &str) -> Result<Self> {
        let resources: Vec<&str> = text.split("Acquired resource '").skip(1).collect();
        let of_class = |class: &str| {
            let is_of =
                |resource: &&&str| field(resource, "cls").is_some_and(|cls| cls.contains(class));
            resources.iter().find(is_of)
        };
        let serial = of_class("SerialPort").context("it has no serial line on line")?;
        ensure!(field(serial, "avail") == Some("True"), "its serial line is off line");
        let (host, port) = (field(serial, "host"), field(serial, "port"));
        let (host, port) =
            host.zip(port).context("its serial line is not offered on the network")?;
        let scheme = if field(serial, "protocol") == Some("raw") { "tcp" } else { "rfc2217" };
        // An IPv6 address is written in brackets.
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        Ok(Self {
            line: format!("{scheme}://{host}:{port}").parse()?,
            baud: field(serial, "speed")
                .and_then(|speed| speed.parse().ok())
                .filter(|baud| BAUDS.contains(baud)),
            has_power: of_class("Power").is_some(),
        })
    }
}

/// The value of a key of the Python dictionary that `show` prints, without quotes.
fn field<'a>(resource: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = resource.split_once(&format!("'{key}': "))?;
    match rest.strip_prefix('\'') {
        Some(quoted) => quoted.split('\'').next(),
        None => rest.split([',', '}', '\n']).next(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_their_tags_and_their_name() {
        let text = "Place 'nucleo-1':\n  tags: board=nucleo, chip=f446\n  matches:\n    lab1/g1/*\n\
                    Place 'bare':\n  matches:\n";
        let places = places(text);
        let with = |tags: &[&str]| {
            let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
            places.iter().filter(|place| place.has(&tags)).count()
        };
        assert_eq!(with(&["board=nucleo"]), 1);
        assert_eq!(with(&["board=nucleo", "name=nucleo-1", "chip=f446"]), 1);
        assert_eq!(with(&["board=nucleo", "name=bare"]), 0);
        assert_eq!(with(&[]), 2);
    }

    #[test]
    fn the_allocated_place_is_found() {
        let text = "state: waiting\nfilters:\n  main: board=a\nowner: vm/root\nstate: allocated\n\
                    filters:\n  main: board=a\nallocations:\n  main: nucleo-1\ncreated: now\n";
        assert_eq!(allocated(text).as_deref(), Some("nucleo-1"));
        assert_eq!(allocated("state: waiting\nfilters:\n  main: board=a\n"), None);
    }

    const SHOWN: &str = "Place 'nucleo-1':
  acquired: vm/root
Acquired resource 'NetworkPowerPort' (lab1/g1/NetworkPowerPort/NetworkPowerPort):
  {'acquired': 'nucleo-1',
   'avail': True,
   'cls': 'NetworkPowerPort',
   'params': {'extra': {}, 'host': 'http://10.0.0.9/{index}', 'index': 1}}
Acquired resource 'RawSerialPort' (lab1/g1/NetworkSerialPort/RawSerialPort):
  {'acquired': 'nucleo-1',
   'avail': True,
   'cls': 'NetworkSerialPort',
   'params': {'extra': {'path': '/dev/pts/0'},
              'host': 'lab1',
              'port': 50501,
              'speed': 115200}}
";

    #[test]
    fn the_line_and_the_power_switch_are_found() {
        let shown = Resources::parse(SHOWN).unwrap();
        assert_eq!(shown.line.to_string(), "rfc2217://lab1:50501");
        assert_eq!((shown.baud, shown.has_power), (Some(115_200), true));
        let away = SHOWN
            .replace("'avail': True,\n   'cls': 'NetworkS", "'avail': False,\n   'cls': 'NetworkS");
        let why = |text: &str| Resources::parse(text).unwrap_err().to_string();
        assert_eq!(why(&away), "its serial line is off line");
        assert_eq!(why("Place 'a':\n"), "it has no serial line on line");
        assert!(!why(&SHOWN.replace("'port': 50501", "'port': None")).is_empty());
    }
}
