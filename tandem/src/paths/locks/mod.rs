//! Handing a mutex over.

#[cfg(all(target_arch = "arm", direct))]
mod cortex_m;

pub(crate) use self::chosen::pass_on;

#[cfg(all(target_arch = "arm", direct, not(feature = "time-slice")))]
mod chosen {
    pub(crate) use super::cortex_m::pass_on;
}
#[cfg(all(target_arch = "arm", direct, feature = "time-slice"))]
mod chosen {
    use crate::{
        arch::Mask,
        lock,
        records::{Lock, Task, Waiter},
    };
    use core::ptr::NonNull;

    either! {
        pass_on(lock: &Lock, me: Task, first: NonNull<Waiter>, mask: Mask) = lock::pass_on;
    }
}
#[cfg(not(all(target_arch = "arm", direct)))]
mod chosen {
    pub(crate) use crate::lock::pass_on;
}
