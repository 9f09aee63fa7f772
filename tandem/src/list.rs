//! Tasks that wait for one object on conditions of their own: event groups and watches.
//!
//! Each has a node in a ring, in the order in which they began to wait, and waits for the event in
//! its node. A walk visits every node and serves those whose condition holds. It has one node in a
//! masked window, so interrupts are masked for a constant time, however many tasks wait.
//!
//! A walk moves each node that it leaves waiting to the end of the ring, marked with the number of
//! the walk, and ends at the first node that has the latest number. A new node gets the latest
//! number, too: its condition has just been checked. So where a walk interrupts another, it does
//! the other's work as well, which then ends at once; and no node is visited for ever.
//!
//! # Soundness
//! A node is pinned on the stack or in the future of its task. [`Place`] borrows it as long as it
//! may be in the ring, and takes it out when dropped. Links are followed only with interrupts
//! masked.

use crate::{
    arch::{self, Mask, masked},
    ceiling::without_switches,
    event::Event,
    kernel,
    records::KERNEL,
    shared::{Masked, Shared},
};
use core::{marker::PhantomPinned, pin::Pin, ptr::NonNull};

/// The wait of one task on a condition `C`.
pub(crate) struct Node<C> {
    condition: C,
    /// Signalled, with flags that are not 0, when the condition is served.
    event: Event,
    linked: Shared<bool>,
    /// The number of the latest walk that has checked the condition.
    seen: Shared<u32>,
    next: Shared<Option<NonNull<Node<C>>>>,
    prev: Shared<Option<NonNull<Node<C>>>>,
    _pinned: PhantomPinned,
}

impl<C> Node<C> {
    pub(crate) const fn new(condition: C) -> Self {
        Self {
            condition,
            event: Event::new(),
            linked: Shared::new(false),
            seen: Shared::new(0),
            next: Shared::new(None),
            prev: Shared::new(None),
            _pinned: PhantomPinned,
        }
    }

    /// The event by which the task waits.
    pub(crate) fn event(&self) -> &Event {
        &self.event
    }
}

/// The tasks that wait for one object.
pub(crate) struct List<C> {
    first: Shared<Option<NonNull<Node<C>>>>,
    /// The number of walks begun. Wraps.
    walks: Shared<u32>,
}

/// A node that may be in a ring. Dropping it takes the node out.
pub(crate) struct Place<'a, C> {
    list: &'a List<C>,
    node: Pin<&'a Node<C>>,
}

impl<C> Drop for Place<'_, C> {
    fn drop(&mut self) {
        self.leave();
    }
}

impl<C> Place<'_, C> {
    /// Takes the node out of the ring, if it is there: no walk serves it from here on.
    pub(crate) fn leave(&self) {
        masked(|m| self.list.remove(m, &self.node));
    }
}

/// The node that a link leads to.
#[inline(always)]
fn at<'a, C>(_: Masked, link: NonNull<Node<C>>) -> &'a Node<C> {
    // SAFETY: links lead to nodes in the ring. They stay in place until they are removed, which
    // needs interrupts masked, and callers use the reference only while they are masked.
    unsafe { link.as_ref() }
}

impl<C> List<C> {
    pub(crate) const fn new() -> Self {
        Self { first: Shared::new(None), walks: Shared::new(0) }
    }

    /// Puts a node at the end of the ring if `decide` returns 0 for its condition. Otherwise
    /// returns those flags: the wait need not begin. `call` is named if the task may not wait.
    ///
    /// # Panics
    /// If `decide` returns 0 in a critical section, and `call` is `Some`.
    #[track_caller]
    pub(crate) fn enter<'a>(
        &'a self,
        node: Pin<&'a Node<C>>,
        call: Option<&str>,
        decide: impl Fn(Masked, &C) -> u32,
    ) -> Result<u32, Place<'a, C>> {
        let (mask, m) = Mask::set();
        let flags = decide(m, &node.condition);
        if flags != 0 {
            mask.restore();
            return Ok(flags);
        }
        if let Some(call) = call {
            kernel::assert_may_wait(mask, call);
        }
        node.seen.set(m, self.walks.get(m));
        self.append(m, &node);
        mask.restore();
        Err(Place { list: self, node })
    }

    fn append(&self, m: Masked, node: &Node<C>) {
        let this = NonNull::from(node);
        let first = self.first.get(m).unwrap_or(this);
        let last = if first == this { this } else { at(m, first).prev.get(m).unwrap_or(first) };
        node.linked.set(m, true);
        node.next.set(m, Some(first));
        node.prev.set(m, Some(last));
        at(m, last).next.set(m, Some(this));
        at(m, first).prev.set(m, Some(this));
        self.first.set(m, Some(first));
    }

    fn remove(&self, m: Masked, node: &Node<C>) {
        let (true, Some(next), Some(prev)) =
            (node.linked.get(m), node.next.get(m), node.prev.get(m))
        else {
            return;
        };
        let this = NonNull::from(node);
        node.linked.set(m, false);
        at(m, prev).next.set(m, Some(next));
        at(m, next).prev.set(m, Some(prev));
        if self.first.get(m) == Some(this) {
            self.first.set(m, (next != this).then_some(next));
        }
    }

    /// Serves every node for whose condition `decide` returns flags other than 0, in the order in
    /// which they began to wait. Tasks run when all have been visited, those that a handler wakes
    /// meanwhile, too: none finds the walk half done.
    pub(crate) fn walk(&self, decide: impl Fn(Masked, &C) -> u32) {
        if masked(|m| self.first.get(m).is_some()) {
            without_switches(|| self.visit(decide));
        }
    }

    fn visit(&self, decide: impl Fn(Masked, &C) -> u32) {
        let (mask, m) = Mask::set();
        let m = self.visit_in_windows(m, mask, decide);
        if KERNEL.started(m).is_some() {
            kernel::reschedule(m, mask);
        }
        mask.restore();
    }

    pub(crate) fn is_empty(&self, m: Masked) -> bool {
        self.first.get(m).is_none()
    }

    /// Does the work of [`walk`](Self::walk) for a caller that no other task pre-empts. Interrupts
    /// are masked before and after, and restored to `mask` behind each node. The woken tasks are
    /// ready; the caller lets them run.
    pub(crate) fn visit_in_windows(
        &self,
        mut m: Masked,
        mut mask: Mask,
        decide: impl Fn(Masked, &C) -> u32,
    ) -> Masked {
        self.walks.set(m, self.walks.get(m).wrapping_add(1));
        while let Some(first) = self.first.get(m) {
            let node = at(m, first);
            if node.seen.get(m) == self.walks.get(m) {
                break;
            }
            node.seen.set(m, self.walks.get(m));
            match decide(m, &node.condition) {
                0 => self.first.set(m, node.next.get(m)),
                flags => {
                    self.remove(m, node);
                    if let Some(task) = node.event.raise(m, flags) {
                        kernel::wake(m, task);
                    }
                }
            }
            (mask, m) = arch::open_window(mask);
        }
        m
    }
}
