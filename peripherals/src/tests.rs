//! A whole chip: accesses, times and interrupts against the reference manual.

use crate::{Peripherals, Sent};

/// RCC after a reset, SYSCFG, and one device of each kind; their regions.
const OPTIONS: [&str; 9] = [
    "bank=0x40023800:0x400",
    "reset=0x40023800:0x83",
    "follow=0x40023800:16:0x40023800:17",
    "bank=0x40013800:0x400",
    "clocks=0x40023800:10000000",
    "timer=TIM2:0x40000000:0x40:0:28:28:32:4:0",
    "uart=USART2:0x40004400:0x40:17:38",
    "gpio=GPIOA:0x40020000:0x30:0:0xa8000000:0:0x64000000",
    "exti=EXTI:0x40013c00:0x40013808",
];
const RCC: usize = 0;
const SYSCFG: usize = 1;
const TIM2: usize = 2;
const USART2: usize = 3;
const GPIOA: usize = 4;
const EXTI: usize = 5;

/// Registers of a timer, by their offsets.
const CR1: u32 = 0x00;
const DIER: u32 = 0x0c;
const SR: u32 = 0x10;
const EGR: u32 = 0x14;
const CCMR1: u32 = 0x18;
const CNT: u32 = 0x24;
const PSC: u32 = 0x28;
const ARR: u32 = 0x2c;
const CCR1: u32 = 0x34;

/// A chip at a time in ns. Its crystal of 10 MHz is the system's clock: a tick is 100 ns.
struct Chip {
    chip: Peripherals,
    now: u64,
}

impl Chip {
    /// The chip after a reset, with the clocks of its devices.
    fn new() -> Self {
        Self::with(&[])
    }

    /// With more options.
    fn with(more: &[&str]) -> Self {
        let options = OPTIONS.iter().chain(more).copied();
        let mut chip = Self { chip: Peripherals::parse(options).unwrap(), now: 0 };
        chip.write(RCC, 0x08, 1);
        chip.write(RCC, 0x40, 1 | 1 << 17);
        chip.write(RCC, 0x30, 1);
        chip
    }

    fn write(&mut self, region: usize, offset: u32, value: u32) {
        self.chip.write(region, offset, 4, value, self.now);
    }

    fn read(&mut self, region: usize, offset: u32) -> u32 {
        self.chip.read(region, offset, 4, self.now)
    }

    /// Lets ticks pass.
    fn ticks(&mut self, ticks: u64) {
        self.now += ticks * 100;
        self.chip.pass(self.now);
    }

    fn active(&self) -> Vec<u32> {
        let levels = self.chip.levels();
        levels.into_iter().filter(|(_, level)| *level).map(|(interrupt, _)| interrupt).collect()
    }
}

#[test]
fn a_timer_s_period_is_prescaler_and_reload_plus_one() {
    let mut chip = Chip::new();
    chip.write(TIM2, PSC, 9);
    chip.write(TIM2, ARR, 999);
    // An update by software loads the prescaler; URS keeps the flag clear.
    chip.write(TIM2, CR1, 1 << 2);
    chip.write(TIM2, EGR, 1);
    assert_eq!(chip.read(TIM2, SR), 0);
    chip.write(TIM2, DIER, 1);
    chip.write(TIM2, CR1, 1);
    // A millisecond.
    assert_eq!(chip.chip.due(), Some(1_000_000));
    chip.ticks(9_999);
    assert_eq!((chip.read(TIM2, CNT), chip.active()), (999, vec![]));
    chip.ticks(1);
    assert_eq!((chip.read(TIM2, CNT), chip.active()), (0, vec![28]));
    // The flag is cleared by a 0, and left by a 1.
    chip.write(TIM2, SR, 1);
    assert_eq!(chip.active(), [28]);
    chip.write(TIM2, SR, !1);
    assert_eq!((chip.active(), chip.chip.due()), (vec![], Some(2_000_000)));
    // A new prescaler waits for the update; so does a reload with ARPE.
    chip.write(TIM2, CR1, 1 | 1 << 7);
    chip.write(TIM2, PSC, 0);
    chip.write(TIM2, ARR, 1_999);
    chip.ticks(9_999);
    assert_eq!(chip.read(TIM2, CNT), 999);
    chip.ticks(1 + 1_999);
    assert_eq!(chip.read(TIM2, CNT), 1_999);
    chip.ticks(1);
    assert_eq!(chip.read(TIM2, CNT), 0);
    // Whole years pass in no time.
    chip.ticks(2_000 * 1_000_000_000 * 500 + 7);
    assert_eq!(chip.read(TIM2, CNT), 7);
}

#[test]
fn a_compare_sets_its_flag_and_its_preload_waits_for_an_update() {
    let mut chip = Chip::new();
    chip.write(TIM2, ARR, 99);
    chip.write(TIM2, CCR1, 40);
    chip.write(TIM2, DIER, 1 << 1);
    chip.write(TIM2, CR1, 1);
    assert_eq!(chip.chip.due(), Some(40 * 100));
    chip.ticks(39);
    assert_eq!(chip.active(), []);
    chip.ticks(1);
    assert_eq!((chip.active(), chip.read(TIM2, SR) & 3), (vec![28], 2));
    // Others compare with 0, which the counter has after the overflow.
    chip.write(TIM2, SR, 0);
    chip.ticks(60);
    assert_eq!(chip.read(TIM2, SR), 0b1_1101);
    // OC1PE: a new value comes into force with the next update.
    chip.write(TIM2, SR, 0);
    chip.write(TIM2, CCMR1, 1 << 3);
    chip.write(TIM2, CCR1, 10);
    chip.ticks(20);
    assert_eq!((chip.read(TIM2, CCR1), chip.read(TIM2, SR)), (10, 0));
    chip.ticks(20);
    assert_eq!(chip.read(TIM2, SR), 2);
    chip.write(TIM2, SR, 0);
    chip.ticks(60 + 10);
    assert_eq!(chip.read(TIM2, SR) & 3, 3);
    // An input captures nothing, and a compare beyond the reload matches at the overflow.
    chip.write(TIM2, CCMR1, 1);
    chip.write(TIM2, CCR1 + 4, 1000);
    chip.write(TIM2, SR, 0);
    chip.ticks(89);
    assert_eq!(chip.read(TIM2, SR), 0);
    chip.ticks(1);
    assert_eq!(chip.read(TIM2, SR), 0b1_1101);
}

#[test]
fn a_timer_counts_down_both_ways_and_once() {
    let mut chip = Chip::new();
    chip.write(TIM2, ARR, 9);
    chip.write(TIM2, CR1, 1 << 4);
    chip.write(TIM2, EGR, 1);
    chip.write(TIM2, SR, 0);
    assert_eq!(chip.read(TIM2, CNT), 9);
    chip.write(TIM2, CR1, 1 | 1 << 4);
    chip.ticks(3);
    assert_eq!((chip.read(TIM2, CNT), chip.read(TIM2, SR) & 1), (6, 0));
    chip.ticks(7);
    assert_eq!((chip.read(TIM2, CNT), chip.read(TIM2, SR) & 1), (9, 1));
    // Both ways: up in 9 counts, down in 9; flags are set on the way down alone.
    chip.write(TIM2, CR1, 0);
    chip.write(TIM2, CCR1, 4);
    chip.write(TIM2, CR1, 1 << 5);
    chip.write(TIM2, EGR, 1);
    chip.write(TIM2, SR, 0);
    chip.write(TIM2, CR1, 1 | 1 << 5);
    chip.ticks(4);
    assert_eq!((chip.read(TIM2, CNT), chip.read(TIM2, SR)), (4, 0));
    chip.ticks(5 + 4);
    assert_eq!((chip.read(TIM2, CNT), chip.read(TIM2, SR) & 3), (5, 1));
    assert_eq!(chip.read(TIM2, CR1), 1 | 1 << 5 | 1 << 4);
    chip.ticks(1);
    assert_eq!((chip.read(TIM2, CNT), chip.read(TIM2, SR) & 3), (4, 3));
    chip.ticks(18 * 1_000_000);
    assert_eq!((chip.read(TIM2, CNT), chip.read(TIM2, CR1)), (4, 1 | 1 << 5 | 1 << 4));
    // One pulse.
    chip.write(TIM2, CR1, 0);
    chip.write(TIM2, EGR, 1);
    chip.write(TIM2, CR1, 1 | 1 << 3);
    chip.ticks(25);
    assert_eq!((chip.read(TIM2, CNT), chip.read(TIM2, CR1)), (0, 1 << 3));
    // Without updates the flag stays clear, and the counter goes on.
    chip.write(TIM2, SR, 0);
    chip.write(TIM2, CR1, 1 | 1 << 1);
    chip.ticks(25);
    assert_eq!((chip.read(TIM2, CNT), chip.read(TIM2, SR) & 1), (5, 0));
}

#[test]
fn a_serial_port_takes_a_frame_s_time_for_each_byte() {
    let mut chip = Chip::new();
    // 115,200 baud of 10 MHz: 5 7/16, so 87 clocks a bit.
    chip.write(USART2, 0x08, 87);
    chip.write(USART2, 0x04, 0x2e);
    assert_eq!(chip.chip.sent(), [], "the transmitter is off");
    chip.write(USART2, 0x0c, 1 << 13 | 1 << 3);
    assert_eq!(chip.read(USART2, 0x00), 0xc0);
    chip.write(USART2, 0x04, 0x48);
    // The first went to the shift register: TXE is set, TC is not.
    assert_eq!(chip.read(USART2, 0x00), 0x80);
    chip.write(USART2, 0x04, 0x69);
    assert_eq!(chip.read(USART2, 0x00), 0);
    chip.write(USART2, 0x0c, 1 << 13 | 1 << 3 | 1 << 7);
    assert_eq!(chip.chip.due(), Some(870 * 100));
    chip.ticks(869);
    assert_eq!(chip.active(), []);
    chip.ticks(1);
    assert_eq!((chip.active(), chip.read(USART2, 0x00)), (vec![38], 0x80));
    chip.ticks(870);
    assert_eq!(chip.read(USART2, 0x00), 0xc0);
    let sent: Vec<Sent> = b"Hi".iter().map(|&byte| Sent { port: 0, byte }).collect();
    assert_eq!(chip.chip.sent(), sent);
    chip.write(USART2, 0x00, 0);
    assert_eq!(chip.read(USART2, 0x00), 0x80, "TC is cleared by a 0");
}

#[test]
fn a_device_without_clock_reads_0_and_a_reset_clears_it() {
    let mut chip = Chip::new();
    chip.write(TIM2, ARR, 99);
    chip.write(TIM2, CR1, 1);
    chip.ticks(10);
    chip.write(RCC, 0x40, 0);
    assert_eq!(chip.read(TIM2, CNT), 0);
    chip.ticks(10);
    chip.write(TIM2, ARR, 5);
    chip.write(RCC, 0x40, 1);
    assert_eq!((chip.read(TIM2, CNT), chip.read(TIM2, ARR)), (10, 99));
    // Half the rate from here on: AHB divided by 2.
    chip.write(RCC, 0x08, 1 | 8 << 4);
    chip.ticks(10);
    assert_eq!(chip.read(TIM2, CNT), 15);
    chip.write(RCC, 0x20, 1);
    chip.write(RCC, 0x20, 0);
    assert_eq!((chip.read(TIM2, CNT), chip.read(TIM2, ARR)), (0, u32::MAX));
}

#[test]
fn a_pin_s_edge_requests_the_interrupt_that_is_selected() {
    let mut chip = Chip::new();
    chip.write(EXTI, 0x00, 1 << 5);
    chip.write(EXTI, 0x08, 1 << 5);
    chip.write(GPIOA, 0x00, 1 << 10);
    chip.write(GPIOA, 0x18, 1 << 5);
    assert_eq!(chip.active(), [23]);
    chip.write(EXTI, 0x14, 1 << 5);
    chip.write(GPIOA, 0x18, 1 << 21);
    assert_eq!(chip.active(), []);
    // Port B, which is not there.
    chip.write(SYSCFG, 0x0c, 1 << 4);
    chip.write(GPIOA, 0x18, 1 << 5);
    assert_eq!(chip.active(), []);
}

#[test]
fn parts_of_a_word_are_accessed_alone() {
    let mut chip = Chip::new();
    // The upper half of BSRR, as BSRRH.
    chip.write(GPIOA, 0x18, 0xf0);
    chip.chip.write(GPIOA, 0x1a, 2, 0x50, 0);
    assert_eq!(chip.chip.read(GPIOA, 0x14, 1, 0), 0xa0);
    chip.chip.write(RCC, 0x02, 1, 1, 0);
    assert_eq!((chip.read(RCC, 0x00), chip.chip.read(RCC, 0x02, 1, 0)), (0x3_0083, 3));
    // One pending bit of two.
    chip.write(EXTI, 0x00, 0x101);
    chip.write(EXTI, 0x10, 0x101);
    chip.chip.write(EXTI, 0x14, 1, 1, 0);
    assert_eq!(chip.read(EXTI, 0x14), 0x100);
}

#[test]
fn ready_bits_follow_their_enables_and_answers_are_constant() {
    let options = ["bank=0x40007000:8", "ready=0x40007004:14", "answer=0x50060800:7", "out=x"];
    let mut chip = Peripherals::parse(options).unwrap();
    assert_eq!(chip.regions(), [(0x4000_7000, 8), (0x5006_0800, 4)]);
    chip.write(0, 4, 4, 0, 0);
    chip.write(1, 0, 4, 9, 0);
    assert_eq!((chip.read(0, 4, 4, 0), chip.read(1, 0, 4, 0)), (1 << 14, 7));
    let mut chip = Chip::new();
    assert_eq!(chip.read(RCC, 0), 0x83);
    chip.write(RCC, 0, 0x1_0083);
    assert_eq!(chip.read(RCC, 0), 0x3_0083);
    chip.write(RCC, 0, 0x83 | 1 << 17);
    assert_eq!(chip.read(RCC, 0), 0x83, "a ready bit cannot be written");
}

#[test]
fn wrong_options_are_refused() {
    for option in [
        "bank=0x40023800",
        "bank=x:4",
        "bank=0:0xffffffff",
        "ready=0x40007004:14",
        "answer=1",
        "follow=1:2:3",
        "clocks=0x40023800:8000000",
        "timer=TIM2:0x40000000:0x40:0:28:28:24:4:0",
        "timer=TIM2:0x40000000:0x40:0:28:28:32:5:0",
        "uart=USART2:0x40004400:0x40:32:38",
        "gpio=GPIOA",
        "exti=EXTI:1",
    ] {
        let error = Peripherals::parse([option]).unwrap_err();
        assert!(error.contains(option), "{option}: {error}");
    }
    assert!(Peripherals::parse(["bank=0:8", "ready=4:32"]).is_err());
    assert!(Peripherals::parse(["bank=0:8", "follow=0:1:8:1"]).is_err());
}

/// A period of 10 µs, after which the timer stands still for 1.234 µs, and for 3 µs after the first one.
#[test]
fn a_timer_s_phase_moves_by_its_schedule() {
    let mut chip = Chip::with(&["phase=TIM2:1234:3000"]);
    chip.write(TIM2, ARR, 99);
    chip.write(TIM2, DIER, 1);
    chip.write(TIM2, CR1, 1);
    let mut requests = Vec::new();
    for _ in 0..4 {
        chip.now = chip.chip.due().unwrap();
        chip.chip.pass(chip.now);
        let request = chip.chip.take_request().unwrap();
        assert_eq!((request.due, chip.active()), (chip.now, vec![28]));
        requests.push((request.number, request.due));
        // The counter stands at 0 meanwhile.
        chip.now += 200;
        assert_eq!(chip.read(TIM2, CNT), 0);
        chip.write(TIM2, SR, 0);
    }
    assert_eq!(requests, [(1, 10_000), (2, 23_000), (3, 34_234), (4, 45_468)]);
    // One that is not served raises no other, and has its number.
    chip.now += 30_000;
    chip.chip.pass(chip.now);
    assert_eq!(chip.chip.take_request().unwrap().number, 5);
    chip.write(TIM2, SR, 0);
    chip.now = chip.chip.due().unwrap();
    chip.chip.pass(chip.now);
    assert_eq!(chip.chip.take_request().unwrap().number, 7);
    assert_eq!(chip.chip.take_request(), None);
    for option in ["phase=TIM9:1:0", "phase=USART2:1:0", "phase=TIM2:1:2:3", "phase=TIM2:1"] {
        assert!(Peripherals::parse(OPTIONS.into_iter().chain([option])).is_err(), "{option}");
    }
}
