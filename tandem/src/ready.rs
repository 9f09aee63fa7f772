//! The ready set: which task runs next. Every operation takes constant time.
//!
//! One ring per level holds the ready tasks in the order in which they will run, and a word holds one
//! bit per ring that is not empty, the most urgent on top. The running task stays in its ring, at its
//! head; so pre-empting it and yielding to another touch almost nothing.

use crate::{
    arch,
    shared::{Masked, Shared},
    task::{Header, IDLE_LEVEL, Level, Task},
};

/// The assembly of `arch` knows this layout: see `arch::offset`.
#[repr(C)]
pub(crate) struct Ready {
    /// The heads of the rings; the last is the idle task, in no ring, chosen when every ring is empty.
    heads: [Shared<Option<Task>>; IDLE_LEVEL as usize + 1],
    bitmap: Shared<u32>,
}

impl Ready {
    pub(crate) const fn new() -> Self {
        Self {
            heads: [const { Shared::new(None) }; IDLE_LEVEL as usize + 1],
            bitmap: Shared::new(0),
        }
    }

    pub(crate) fn set_idle(&self, m: Masked, idle: Task) {
        idle.set_base(m, IDLE_LEVEL);
        idle.set_level(m, IDLE_LEVEL);
        self.head(IDLE_LEVEL).set(m, Some(idle));
    }

    #[inline(always)]
    pub(crate) fn head(&self, level: Level) -> &Shared<Option<Task>> {
        debug_assert!(level <= IDLE_LEVEL);
        // SAFETY: a level comes from a `Priority`, at most 31, or is the idle level, the last index.
        unsafe { self.heads.get_unchecked(level as usize) }
    }

    /// The head of a task's ring.
    #[inline(always)]
    pub(crate) fn head_of(&self, m: Masked, task: Task) -> &Shared<Option<Task>> {
        #[cfg(not(target_arch = "riscv32"))]
        return self.head(task.level.get(m));
        #[cfg(target_arch = "riscv32")]
        // SAFETY: set with the level, to a place in this set, the kernel's only one.
        unsafe {
            task.head.get(m).unwrap_unchecked().as_ref()
        }
    }

    /// The task that should run.
    #[inline(always)]
    pub(crate) fn most_urgent(&self, m: Masked) -> Task {
        let head = self.head(arch::leading_zeros(self.bitmap.get(m)) as Level).get(m);
        debug_assert!(head.is_some());
        // SAFETY: a set bit means a ring that is not empty, and the last head is the idle task since `set_idle`.
        unsafe { head.unwrap_unchecked() }
    }

    /// Makes a task ready, behind its equals, unless it is already. `true` when it is now more urgent than all others.
    #[inline(always)]
    pub(crate) fn insert(&self, m: Masked, task: Task) -> bool {
        let (bit, bitmap) = (task.bit.get(m), self.bitmap.get(m));
        // A bit above all others also says that its ring is empty, and so that the task is not ready.
        if bit > bitmap {
            self.bitmap.set(m, bitmap | bit);
            self.head_of(m, task).set(m, Some(task));
            return true;
        }
        self.insert_behind(m, task);
        false
    }

    #[inline(always)]
    fn insert_behind(&self, m: Masked, task: Task) {
        let (bit, bitmap) = (task.bit.get(m), self.bitmap.get(m));
        let slot = self.head_of(m, task);
        if bitmap & bit != 0 {
            let head = neighbour(m, slot);
            if neighbour(m, &task.next).is(task) && !head.is(task) {
                self.join(m, task, head);
            } else {
                task.again.set(m, task.is_open(m));
            }
        } else if bit != 0 {
            self.bitmap.set(m, bitmap | bit);
            slot.set(m, Some(task));
        }
    }

    /// Whether a task is in a ring. A task that is not is linked to itself.
    pub(crate) fn contains(&self, m: Masked, task: Task) -> bool {
        self.bitmap.get(m) & task.bit.get(m) != 0
            && (!neighbour(m, &task.next).is(task)
                || self.head_of(m, task).get(m).is_some_and(|head| head.is(task)))
    }

    #[inline(always)]
    fn join(&self, m: Masked, task: Task, head: Task) {
        let last = neighbour(m, &head.prev);
        task.next.set(m, Some(head));
        task.prev.set(m, Some(last));
        last.next.set(m, Some(task));
        head.prev.set(m, Some(task));
    }

    /// Makes a task ready, before its equals.
    pub(crate) fn insert_front(&self, m: Masked, task: Task) {
        self.insert(m, task);
        self.head_of(m, task).set(m, Some(task));
    }

    /// Takes a ready task out.
    #[inline(always)]
    pub(crate) fn remove(&self, m: Masked, task: Task) {
        let next = neighbour(m, &task.next);
        if next.is(task) {
            self.bitmap.set(m, self.bitmap.get(m) & !task.bit.get(m));
            return;
        }
        self.part(m, task, next);
        let head = self.head_of(m, task);
        if head.get(m).is_some_and(|head| head.is(task)) {
            head.set(m, Some(next));
        }
    }

    /// Takes out the head of a ring, which is `task`. Returns the task that should run now.
    #[inline(always)]
    pub(crate) fn remove_head(&self, m: Masked, task: Task) -> Task {
        debug_assert!(self.head_of(m, task).get(m).is_some_and(|head| head.is(task)));
        let (bit, bitmap) = (task.bit.get(m), self.bitmap.get(m));
        let next = neighbour(m, &task.next);
        if next.is(task) {
            self.bitmap.set(m, bitmap & !bit);
            return self.most_urgent(m);
        }
        self.head_of(m, task).set(m, Some(next));
        self.part(m, task, next);
        // The ring is the most urgent still, unless a switch to a more urgent one has been put off.
        if bitmap ^ bit < bit { next } else { self.most_urgent(m) }
    }

    fn part(&self, m: Masked, task: Task, next: Task) {
        let prev = neighbour(m, &task.prev);
        task.next.set(m, Some(task));
        task.prev.set(m, Some(task));
        next.prev.set(m, Some(prev));
        prev.next.set(m, Some(next));
    }

    /// Sends the head of a ring, which is `task`, to its end. Returns the new head.
    #[inline(always)]
    pub(crate) fn rotate(&self, m: Masked, task: Task) -> Task {
        let next = neighbour(m, &task.next);
        self.head_of(m, task).set(m, Some(next));
        next
    }

    /// Changes the level of a task that may be ready. `front`: before its equals there.
    pub(crate) fn relevel(&self, m: Masked, task: Task, level: Level, front: bool) {
        if !self.contains(m, task) {
            task.set_level(m, level);
            return;
        }
        self.remove(m, task);
        task.set_level(m, level);
        if front {
            self.insert_front(m, task);
        } else {
            self.insert(m, task);
        }
    }
}

/// The ring link of a task that is in a ring.
#[inline(always)]
pub(crate) fn neighbour(m: Masked, link: &Shared<Option<Task>>) -> &'static Header {
    let link = link.get(m);
    debug_assert!(link.is_some());
    // SAFETY: both links of a task in a ring are set, by `start_ring` or `insert_behind`, and callers ask of such tasks only.
    unsafe { link.unwrap_unchecked() }
}
