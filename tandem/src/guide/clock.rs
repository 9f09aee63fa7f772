// A clock that stands still, for `cargo test --doc`, which compiles the programs of the guide.
struct Clock;
tandem::drive_time_with!(Clock);
// SAFETY: the functions call nothing of the kernel.
unsafe impl tandem::time::Driver for Clock {
    const HERTZ: u64 = 1_000_000;
    fn now() -> u64 {
        0
    }
    fn arm(_: u64) {}
}
