//! embassy-stm32: HSE and the PLL, a pin that changes each millisecond by the time driver on TIM4, and a
//! serial port that reports the time.

#![no_std]
#![no_main]

use core::fmt::{self, Write};

use cortex_m_semihosting::debug;
use embassy_executor::Spawner;
use embassy_stm32::{
    Config,
    gpio::{Level, Output, Speed},
    mode::Blocking,
    rcc::{
        AHBPrescaler, APBPrescaler, Hse, HseMode, Pll, PllMul, PllPDiv, PllPreDiv, PllQDiv,
        PllSource, Sysclk,
    },
    time::Hertz,
    usart::{self, UartTx},
};
use embassy_time::{Duration, Instant, Ticker};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

struct Serial(UartTx<'static, Blocking>);

impl Write for Serial {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.blocking_write(text.as_bytes()).map_err(|_| fmt::Error)
    }
}

#[embassy_executor::task]
async fn blink(mut led: Output<'static>) {
    let mut ticker = Ticker::every(Duration::from_millis(1));
    loop {
        led.toggle();
        ticker.next().await;
    }
}

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    let mut config = Config::default();
    config.rcc.hse = Some(Hse { freq: Hertz(8_000_000), mode: HseMode::Oscillator });
    config.rcc.pll_src = PllSource::HSE;
    config.rcc.pll = Some(Pll {
        prediv: PllPreDiv::DIV4,
        mul: PllMul::MUL168,
        divp: Some(PllPDiv::DIV2),
        divq: Some(PllQDiv::DIV7),
        divr: None,
    });
    config.rcc.ahb_pre = AHBPrescaler::DIV1;
    config.rcc.apb1_pre = APBPrescaler::DIV4;
    config.rcc.apb2_pre = APBPrescaler::DIV2;
    config.rcc.sys = Sysclk::PLL1_P;
    let chip = embassy_stm32::init(config);
    spawner.spawn(blink(Output::new(chip.PA5, Level::Low, Speed::Low)).unwrap());
    let serial = UartTx::new_blocking(chip.USART2, chip.PA2, usart::Config::default());
    let mut serial = Serial(serial.unwrap());
    let mut ticker = Ticker::every(Duration::from_millis(3));
    for round in 0..3 {
        ticker.next().await;
        let late = Instant::now().as_micros() % 1000;
        writeln!(serial, "round {round}, {} us late", late).unwrap();
    }
    serial.0.blocking_flush().unwrap();
    debug::exit(debug::EXIT_SUCCESS);
    panic!();
}
