//! The recorded latencies of `data/`; the README there describes them.

use std::io::Read;

/// A recording: one latency in ns for each due time, in their order.
#[derive(Clone, Copy, Debug)]
pub struct Recording {
    /// The name of the recording's file in `data/`.
    pub name: &'static str,
    /// The time between two due times, in ns.
    pub interval_ns: u64,
    bytes: &'static [u8],
}

/// All recordings.
pub const RECORDINGS: [Recording; 3] = [
    Recording {
        name: "latency-a",
        interval_ns: 1_000_000,
        bytes: include_bytes!("../data/latency-a.u32.xz"),
    },
    Recording {
        name: "latency-b",
        interval_ns: 250_000,
        bytes: include_bytes!("../data/latency-b.u32.xz"),
    },
    Recording {
        name: "latency-c",
        interval_ns: 500_000,
        bytes: include_bytes!("../data/latency-c.u32.xz"),
    },
];

impl Recording {
    /// Unpacks the samples, in ns.
    ///
    /// # Panics
    /// If the file in `data/` is damaged.
    pub fn samples(&self) -> Vec<f64> {
        let mut raw = Vec::new();
        let mut reader = lzma_rust2::XzReader::new(self.bytes, false);
        reader.read_to_end(&mut raw).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let words = raw.chunks_exact(4);
        words.map(|word| f64::from(u32::from_le_bytes(word.try_into().unwrap()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_have_the_samples_that_their_readme_names() {
        let counts = RECORDINGS.map(|recording| recording.samples().len());
        assert_eq!(counts, [720_000, 1_000_000, 600_000]);
    }
}
