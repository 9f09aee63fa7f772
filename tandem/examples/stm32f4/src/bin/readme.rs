//! The program in tandem's README, compiled as it stands there. In QEMU, TIM2 checks the rate of its
//! clock, and ends the emulation.
#![no_std]
#![no_main]

include!(concat!(env!("OUT_DIR"), "/readme.rs"));

const RCC_APB1ENR: *mut u32 = 0x4002_3840 as *mut u32;
const TIM2_CR1: *mut u32 = 0x4000_0000 as *mut u32;
const TIM2_DIER: *mut u32 = 0x4000_000c as *mut u32;
const TIM2_SR: *mut u32 = 0x4000_0010 as *mut u32;
const TIM2_ARR: *mut u32 = 0x4000_002c as *mut u32;
const NVIC_ISER: *mut u32 = 0xe000_e100 as *mut u32;
const TIM2_INTERRUPT: usize = 28;

/// The time at which TIM2 interrupts, in its ticks: 100 ms at the 1 GHz of QEMU's timers.
const CHECKED: u32 = 100_000_000;

/// Starts TIM2, and then the program.
#[cortex_m_rt::entry]
fn start() -> ! {
    if cfg!(feature = "qemu") {
        // SAFETY: these registers are of a timer that the program does not use.
        unsafe {
            RCC_APB1ENR.write_volatile(1);
            TIM2_ARR.write_volatile(CHECKED);
            TIM2_DIER.write_volatile(1);
            TIM2_CR1.write_volatile(1);
            NVIC_ISER.write_volatile(1 << TIM2_INTERRUPT);
        }
    }
    main()
}

/// Compares the program's clock with TIM2's. SysTick counts at 168 MHz in QEMU, so the program's
/// millisecond is shorter by 168 / 16.
extern "C" fn check() {
    // SAFETY: clears the interrupt's cause.
    unsafe { TIM2_SR.write_volatile(0) };
    let expected = u64::from(CHECKED / 1_000_000) * 168_000_000 / u64::from(CORE_HERTZ);
    let ticks = time::now();
    hprintln!("{} ticks of {}", ticks, expected);
    let is_right = ticks.abs_diff(expected) < expected / 50;
    debug::exit(if is_right { debug::EXIT_SUCCESS } else { debug::EXIT_FAILURE });
}

/// The feature `device` of `cortex-m-rt`, which the other examples need, leaves the table to them.
#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
static __INTERRUPTS: [extern "C" fn(); TIM2_INTERRUPT + 1] = [check; TIM2_INTERRUPT + 1];
