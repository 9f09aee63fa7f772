//! The programs of tandem's guide, one after the other, as they stand there.
#![no_std]
#![no_main]

include!(concat!(env!("OUT_DIR"), "/guide.rs"));

use tandem_stm32f4::{self as board, event};

static STACK: tandem::SharedStack<2048> = tandem::SharedStack::new();
static READER: tandem::Thread<4096> = tandem::Thread::new();

#[board::entry]
fn main() -> ! {
    board::set_up();
    tandem::start(&STACK, || {
        let reader = READER.spawn(tandem::Priority::new(3), "reader", |me| {
            for (heading, program) in PROGRAMS {
                program(me);
                event!("{heading}");
            }
            board::exit(PROGRAMS.len() == 12)
        });
        assert!(reader.is_ok());
    })
}
