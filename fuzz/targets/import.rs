#![no_main]

// Showing a run takes ten times as long as reading the file, and the target `run` does that with each
// of its own: one input of 16 is shown here.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if bytes.len() % 16 == 0 {
        chronoscope_fuzz::import(bytes);
    } else {
        chronoscope_fuzz::imported(bytes);
    }
});
