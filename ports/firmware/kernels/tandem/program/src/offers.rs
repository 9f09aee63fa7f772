//! The experiments that processes offer.

use crate::{
    kernel::{Process, Processes},
    transport::transact,
};

chronoscope_suite::offers! {
    kernel Processes: interrupts masking;
    kind "process" Process: delays reaping messages mutexes;
    pair "process-process" Process, Process;
    sets Process;
    own "transaction" transact;
    refuse "interference" "tandem keeps no account of processor time";
    otherwise "this image has processes alone";
}
