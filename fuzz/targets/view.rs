#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| chronoscope_fuzz::observe::view(bytes));
