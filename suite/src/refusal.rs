//! Refusals: why a case cannot run on a target, and the remedy.

/// The reason why a case cannot run, with the remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The kind of refusal.
    pub reason: Reason,
    /// The refused thing, in words for the user.
    pub what: &'static str,
    /// The remedy, in words for the user; empty if there is none.
    pub mend: &'static str,
    /// The operating system's error number, or 0.
    pub code: i32,
}

/// The kind of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Reason {
    /// The kernel, or this port to it, lacks the feature.
    NotOffered,
    /// The kernel has the feature, but denies it to this user.
    NotPermitted,
    /// The request is malformed or contradicts itself.
    Invalid,
    /// The target has too little memory, or too few tasks, for the case.
    Exhausted,
    /// The kernel failed an operation that should have succeeded.
    Failed,
}

impl Refusal {
    /// Creates a refusal without an error number.
    pub const fn new(reason: Reason, what: &'static str, mend: &'static str) -> Self {
        Self { reason, what, mend, code: 0 }
    }

    /// Creates the refusal of a feature that the kernel or its port lacks.
    pub const fn not_offered(what: &'static str) -> Self {
        Self::new(Reason::NotOffered, what, "")
    }

    /// The refusal of an arena, or a pool of tasks, that has no room left.
    pub const fn full() -> Self {
        Self::new(
            Reason::Exhausted,
            "the case needs more memory than this target has",
            "ask for fewer loops or tasks",
        )
    }

    /// Adds the operating system's error number.
    pub const fn with_code(self, code: i32) -> Self {
        Self { code, ..self }
    }
}
