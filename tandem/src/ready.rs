//! The ready set: holds the ready tasks in the order in which they will run. Every operation takes
//! constant time.
//!
//! Each level has a ring of ready tasks. A bitmap has one bit per ring that is not empty, level 0
//! in the most significant bit. The running task stays at the head of its ring; so pre-empting it
//! changes nothing in its ring, and a yield only moves the head.
//!
//! # Soundness
//! - A ring contains ready tasks only, linked in both directions; a live task that is not ready is
//!   linked to itself. `Header::claim` sets the links, `insert` and `remove` keep them. A task that
//!   has ended has no bit, so no operation follows its links.
//! - A set bit in the bitmap means that the head of that level is `Some`. The head of the idle
//!   level is `Some` from `set_idle` on, and [`Ready::most_urgent`] is called only afterwards.

use crate::{
    arch,
    records::{Header, IDLE_LEVEL, Level, Ready, Task},
    shared::{Masked, Shared},
};

impl Ready {
    #[cfg(test)]
    pub(crate) fn reset(&self, m: Masked) {
        self.bitmap.set(m, 0);
    }

    pub(crate) fn set_idle(&self, m: Masked, idle: Task) {
        idle.set_base(m, IDLE_LEVEL);
        idle.set_level(m, IDLE_LEVEL);
        self.head(IDLE_LEVEL).set(m, Some(idle));
    }

    #[inline(always)]
    pub(crate) fn head(&self, level: Level) -> &Shared<Option<Task>> {
        debug_assert!(level <= IDLE_LEVEL);
        // SAFETY: a level is at most `IDLE_LEVEL`, the last index: `Priority` is at most 31, and no
        // other level exists.
        unsafe { self.heads.get_unchecked(level as usize) }
    }

    /// The head of the ring of a task's level.
    #[inline(always)]
    pub(crate) fn head_of(&self, m: Masked, task: Task) -> &Shared<Option<Task>> {
        #[cfg(not(riscv))]
        return self.head(task.level.get(m));
        #[cfg(riscv)]
        // SAFETY: `set_level` stores the address of a head in this set, which is static and the
        // only one. Every task passed here has been given a level.
        unsafe {
            task.head.get(m).unwrap_unchecked().as_ref()
        }
    }

    /// Returns whether no task but the idle task is ready.
    #[cfg(any(test, feature = "sleep-hooks"))]
    pub(crate) fn is_empty(&self, m: Masked) -> bool {
        self.bitmap.get(m) == 0
    }

    /// The most urgent ready task, or the idle task.
    #[inline(always)]
    pub(crate) fn most_urgent(&self, m: Masked) -> Task {
        let head = self.head(arch::leading_zeros(self.bitmap.get(m)) as Level).get(m);
        debug_assert!(head.is_some());
        // SAFETY: a set bit means that the head is `Some`; without a set bit, the index is the idle
        // level, whose head is `Some` since `set_idle`.
        unsafe { head.unwrap_unchecked() }
    }

    /// Makes a task ready, behind its equals; a task that is ready already stays where it is.
    /// Returns `true` if the task has become more urgent than all others.
    #[inline(always)]
    pub(crate) fn insert(&self, m: Masked, task: Task) -> bool {
        let (head, bit, bitmap) = (self.head_of(m, task), task.bit.get(m), self.bitmap.get(m));
        arch::breach("insert");
        // A bit above the whole bitmap means that the ring is empty, so the task is not ready
        // either.
        if bit > bitmap {
            self.bitmap.set(m, bitmap | bit);
            head.set(m, Some(task));
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

    /// Returns whether a task is ready. (A task that is not ready is linked to itself, as is the
    /// only one of a ring.)
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

    /// Makes a task ready, in front of its equals.
    pub(crate) fn insert_front(&self, m: Masked, task: Task) {
        self.insert(m, task);
        self.head_of(m, task).set(m, Some(task));
    }

    /// Calls `visit` for every ready task. A step for each, so only where no interrupt waits.
    pub(crate) fn for_each(&self, m: Masked, visit: impl Fn(Task)) {
        let mut bitmap = self.bitmap.get(m);
        while bitmap != 0 {
            let level = bitmap.leading_zeros();
            bitmap &= !(0x8000_0000 >> level);
            let head = neighbour(m, self.head(level));
            let mut task = head;
            loop {
                visit(task);
                task = neighbour(m, &task.next);
                if task.is(head) {
                    break;
                }
            }
        }
    }

    /// Removes a ready task.
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

    /// Removes `task`, the head of its ring. Returns the task that is now the most urgent.
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
        // This ring is still the most urgent, unless a switch to a more urgent task is pending.
        if bitmap ^ bit < bit { next } else { self.most_urgent(m) }
    }

    fn part(&self, m: Masked, task: Task, next: Task) {
        let prev = neighbour(m, &task.prev);
        task.next.set(m, Some(task));
        task.prev.set(m, Some(task));
        next.prev.set(m, Some(prev));
        prev.next.set(m, Some(next));
    }

    /// Moves `task`, the head of its ring, to the end. Returns the new head.
    #[cfg(any(not(target_arch = "arm"), events, feature = "time-slice", basepri, thumb1))]
    #[inline(always)]
    pub(crate) fn rotate(&self, m: Masked, task: Task) -> Task {
        let next = neighbour(m, &task.next);
        self.head_of(m, task).set(m, Some(next));
        next
    }

    /// Replaces the running task, `me`, by `heir`, which is not ready: `me` returns to its own
    /// level, and `heir` becomes the head of the ring that it leaves. Returns `false`, and has
    /// changed nothing, unless that ring was for `me` alone and of the level of `heir`, the other
    /// ring is empty, and `me` uses no ceiling.
    #[cfg(not(any(events, feature = "time-slice")))]
    #[inline(always)]
    pub(crate) fn succeed(&self, m: Masked, me: Task, heir: Task) -> bool {
        let (level, own, bitmap) = (me.level.get(m), me.base(m), self.bitmap.get(m));
        let new = 0x8000_0000_u32.unbounded_shr(own);
        let has_floor = me.floor.get(m) != crate::records::Rank::NONE;
        if has_floor
            || heir.level.get(m) != level
            || bitmap & new != 0
            || !neighbour(m, &me.next).is(me)
        {
            return false;
        }
        self.bitmap.set(m, bitmap | new);
        self.head_of(m, me).set(m, Some(heir));
        me.set_level(m, own);
        self.head_of(m, me).set(m, Some(me));
        true
    }

    /// The version for builds that trace or slice time: each step has events of its own.
    #[cfg(any(events, feature = "time-slice"))]
    pub(crate) fn succeed(&self, _: Masked, _: Task, _: Task) -> bool {
        false
    }

    /// Raises the running task to the ring of `bit`. Returns `false`, and has changed nothing,
    /// unless that is more urgent than every ready task and the ring that it leaves has no other.
    #[inline(always)]
    pub(crate) fn rise(&self, m: Masked, me: Task, bit: u32) -> bool {
        let bitmap = self.bitmap.get(m);
        if bit <= bitmap || !me.next.get(m).is_some_and(|next| next.is(me)) {
            return false;
        }
        self.bitmap.set(m, bitmap ^ me.bit.get(m) | bit);
        me.set_level_of(m, arch::leading_zeros(bit), bit);
        self.head_of(m, me).set(m, Some(me));
        true
    }

    /// Returns the running task from the ring of `raised` to the ring of `level`, whose bit is
    /// `bit`. Returns `false`, and has changed nothing, if another task is ready in one of the two
    /// rings or in one between.
    #[inline(always)]
    pub(crate) fn sink(
        &self,
        m: Masked,
        me: Task,
        raised: u32,
        (level, bit): (Level, u32),
    ) -> bool {
        let rest = self.bitmap.get(m) ^ raised;
        if rest >= bit || !me.next.get(m).is_some_and(|next| next.is(me)) {
            return false;
        }
        self.bitmap.set(m, rest | bit);
        me.set_level_of(m, level, bit);
        self.head_of(m, me).set(m, Some(me));
        true
    }

    /// Changes the level of a task, ready or not. `front`: in front of its equals at the new level.
    pub(crate) fn relevel(&self, m: Masked, task: Task, level: Level, front: bool) {
        let (bitmap, old) = (self.bitmap.get(m), task.bit.get(m));
        let head = self.head_of(m, task).get(m);
        let new = 0x8000_0000_u32.unbounded_shr(level);
        if bitmap & old == 0 || bitmap & new != 0 || !neighbour(m, &task.next).is(task) {
            return self.relevel_among(m, task, level, front);
        }
        // Alone in its ring, or not ready; the new ring is empty.
        task.set_level(m, level);
        if head.is_some_and(|head| head.is(task)) {
            self.bitmap.set(m, bitmap & !old | new);
            self.head(level).set(m, Some(task));
        }
    }

    #[inline(never)]
    fn relevel_among(&self, m: Masked, task: Task, level: Level, front: bool) {
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

/// The task that a ring link leads to.
#[inline(always)]
pub(crate) fn neighbour(m: Masked, link: &Shared<Option<Task>>) -> &'static Header {
    let link = link.get(m);
    debug_assert!(link.is_some());
    // SAFETY: `Header::claim` sets both links of a task, and they are never `None` again. Callers
    // pass links of tasks that have been spawned.
    unsafe { link.unwrap_unchecked() }
}
