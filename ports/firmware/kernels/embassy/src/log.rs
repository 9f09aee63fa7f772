//! The log of embassy's users: defmt, into a buffer in memory that a debug probe empties
//! (`defmt-rtt`).

use board::rtt;
use chronoscope_suite::kernel::Log;
use defmt_rtt as _;

use crate::kernel::Embassy;

impl Log for Embassy {
    #[inline]
    fn log(&self, round: u32, ticks: u64) {
        defmt::info!("round {=u32} at {=u64}", round, ticks);
    }

    fn logged(&self) -> u64 {
        rtt::accepted()
    }
}
