//! Event groups.

use crate::me;
use tandem::{Group, Want};

/// The options of `tandem.h`.
const ALL: u32 = 1;
const TAKE: u32 = 2;

fn want(flags: u32, options: u32) -> Want {
    assert!(options <= ALL | TAKE, "a wait for a group has the options TANDEM_ALL and TANDEM_TAKE");
    let want = if options & ALL != 0 { Want::all(flags) } else { Want::any(flags) };
    if options & TAKE != 0 { want.take() } else { want }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tandem_group_init(group: *mut Group) {
    // SAFETY: the memory is the program's, and not in use yet, by the header.
    unsafe { group.write(Group::new()) }
}

#[unsafe(no_mangle)]
extern "C" fn tandem_group_set(group: &Group, flags: u32) {
    group.set(flags);
}

#[unsafe(no_mangle)]
extern "C" fn tandem_group_clear(group: &Group, flags: u32) -> u32 {
    group.clear(flags)
}

#[unsafe(no_mangle)]
extern "C" fn tandem_group_try_wait(group: &Group, flags: u32, options: u32) -> u32 {
    group.try_wait(want(flags, options))
}

#[unsafe(no_mangle)]
extern "C" fn tandem_group_wait(group: &Group, flags: u32, options: u32) -> u32 {
    group.wait(&me("tandem_group_wait"), want(flags, options))
}

#[unsafe(no_mangle)]
extern "C" fn tandem_group_wait_until(group: &Group, flags: u32, options: u32, due: u64) -> u32 {
    let me = me("tandem_group_wait_until");
    group.wait_until(&me, want(flags, options), due).unwrap_or(0)
}
