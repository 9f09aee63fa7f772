//! Semaphores and events.

use crate::me;
use tandem::{Event, Semaphore};

#[unsafe(no_mangle)]
unsafe extern "C" fn tandem_semaphore_init(semaphore: *mut Semaphore, count: u32) {
    // SAFETY: the memory is the program's, and not in use yet, by the header.
    unsafe { semaphore.write(Semaphore::new(count)) }
}

#[unsafe(no_mangle)]
extern "C" fn tandem_semaphore_count(semaphore: &Semaphore) -> u32 {
    semaphore.count()
}

#[unsafe(no_mangle)]
extern "C" fn tandem_semaphore_give(semaphore: &Semaphore) {
    semaphore.give();
}

#[unsafe(no_mangle)]
extern "C" fn tandem_semaphore_try_take(semaphore: &Semaphore) -> bool {
    semaphore.try_take()
}

#[unsafe(no_mangle)]
extern "C" fn tandem_semaphore_take(semaphore: &Semaphore) {
    if !semaphore.try_take() {
        semaphore.take(&me("tandem_semaphore_take"));
    }
}

#[unsafe(no_mangle)]
extern "C" fn tandem_semaphore_take_until(semaphore: &Semaphore, due: u64) -> bool {
    semaphore.try_take() || semaphore.take_until(&me("tandem_semaphore_take_until"), due).is_ok()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tandem_event_init(event: *mut Event) {
    // SAFETY: the memory is the program's, and not in use yet, by the header.
    unsafe { event.write(Event::new()) }
}

#[unsafe(no_mangle)]
extern "C" fn tandem_event_signal(event: &Event, flags: u32) {
    event.signal(flags);
}

#[unsafe(no_mangle)]
extern "C" fn tandem_event_try_wait(event: &Event) -> u32 {
    event.try_wait()
}

#[unsafe(no_mangle)]
extern "C" fn tandem_event_wait(event: &Event) -> u32 {
    match event.try_wait() {
        0 => event.wait(&me("tandem_event_wait")),
        flags => flags,
    }
}

#[unsafe(no_mangle)]
extern "C" fn tandem_event_wait_until(event: &Event, due: u64) -> u32 {
    match event.try_wait() {
        0 => event.wait_until(&me("tandem_event_wait_until"), due).unwrap_or(0),
        flags => flags,
    }
}
