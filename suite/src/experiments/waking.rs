//! The object by which a task wakes another in an experiment: the semaphore that all kernels have,
//! or the kernel's own.

use crate::{
    kernel::{Kernel, Native, Refusal, Tasks},
    spec::{Parameter, Values},
};

/// The parameter of an experiment in which a handler wakes a task.
pub(super) const PRIMITIVE: Parameter = Parameter {
    name: "primitive",
    unit: "",
    default: "semaphore",
    values: Values::Extra(&["semaphore", "native"]),
    help: "native: the object that the kernel's own users take, as its page names it",
};

/// An object that wakes tasks of the kind `T`, chosen when the suite is compiled: a test while it
/// runs would cost as much as some kernels' wake-ups.
pub(super) trait Waking<T: Tasks> {
    type Object: Sync + 'static;

    /// # Errors
    /// [`Refusal`] from the kernel.
    fn object(kernel: &'static T::Kernel) -> Result<Self::Object, Refusal>;

    /// Wakes the object's task.
    fn give(kernel: &'static T::Kernel, object: &'static Self::Object);

    /// Wakes the object's task. For handlers.
    fn give_from_handler(kernel: &'static T::Kernel, object: &'static Self::Object);

    /// Waits until woken.
    fn take(
        kernel: &'static T::Kernel,
        object: &'static Self::Object,
    ) -> impl Future<Output = ()> + Send;
}

/// The counting semaphore of the port contract.
pub(super) enum Common {}

impl<T: Tasks> Waking<T> for Common {
    type Object = <T::Kernel as Kernel>::Semaphore;

    fn object(kernel: &'static T::Kernel) -> Result<Self::Object, Refusal> {
        kernel.semaphore(0)
    }

    #[inline(always)]
    fn give(kernel: &'static T::Kernel, object: &'static Self::Object) {
        kernel.give(object);
    }

    #[inline(always)]
    fn give_from_handler(kernel: &'static T::Kernel, object: &'static Self::Object) {
        kernel.give_from_handler(object);
    }

    #[inline(always)]
    fn take(
        kernel: &'static T::Kernel,
        object: &'static Self::Object,
    ) -> impl Future<Output = ()> + Send {
        T::take(kernel, object)
    }
}

/// The kernel's own object, [`Native`].
pub(super) enum Own {}

impl<T: Native> Waking<T> for Own {
    type Object = T::Event;

    fn object(kernel: &'static T::Kernel) -> Result<Self::Object, Refusal> {
        T::event(kernel)
    }

    #[inline(always)]
    fn give(kernel: &'static T::Kernel, object: &'static Self::Object) {
        T::signal(kernel, object);
    }

    #[inline(always)]
    fn give_from_handler(kernel: &'static T::Kernel, object: &'static Self::Object) {
        T::signal(kernel, object);
    }

    #[inline(always)]
    fn take(
        kernel: &'static T::Kernel,
        object: &'static Self::Object,
    ) -> impl Future<Output = ()> + Send {
        T::signalled(kernel, object)
    }
}
