//! A sensor of temperature and humidity on an I2C bus: a coroutine reads it through `sht4x`, a
//! published driver for `embedded-hal-async`; one thread reports, another plays the sensor.
//!
//! The bus is an SC18IM700 at USART1 (see `bridge.rs`): wire PA9 to its RX and PA10 to its TX, and
//! a Sensirion SHT40, 41 or 45 to its bus. Without either, connect PA9 with PA3 and PA10 with PA2:
//! the second port plays both. QEMU connects the ports.
#![no_std]
#![no_main]

use embedded_hal::delay::DelayNs;
use embedded_hal_async::i2c::I2c;
use sht4x::{Precision, Sht4xAsync};
use tandem::{
    Coroutine, Delays, Me, Priority, Queue, SharedStack, Thread, ThreadDelays, delay_until, time,
};
use tandem_stm32f4::{
    self as board, Clock, PORT_1, PORT_2,
    bridge::{Bridge, BridgeError, NO_ACKNOWLEDGE, STATUS, SUCCESS},
    event,
};

static STACK: SharedStack<2048> = SharedStack::new();
static READER: Coroutine<1024> = Coroutine::new();
static SENSOR: Thread<2048> = Thread::new();
static REPORTER: Thread<2048> = Thread::new();
static READINGS: Queue<Result<Reading, Error>, 4> = Queue::new();

type Error = sht4x::Error<BridgeError>;

/// Hundredths of a degree, and of a per cent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reading {
    temperature: i32,
    humidity: i32,
}

const PERIOD: u64 = 500_000; // microseconds
const ROUNDS: usize = 6;
/// The round in which the sensor does not answer.
const SILENT: usize = 3;

/// Reads the sensor in every period. `bus` is any bus of `embedded-hal-async`.
async fn read(bus: impl I2c<Error = BridgeError>) {
    let mut delays = Delays::<Clock>::new();
    let mut sensor = Sht4xAsync::new(bus);
    let mut due = time::now();
    loop {
        due += PERIOD;
        delay_until(due).await;
        let measured = sensor.measure(Precision::High, &mut delays).await;
        READINGS
            .sent(measured.map(|measured| Reading {
                temperature: measured.temperature_milli_celsius() / 10,
                humidity: measured.humidity_milli_percent() / 10,
            }))
            .await;
    }
}

/// The temperature and the humidity in a round, in the sensor's own units.
fn played(round: usize) -> [u16; 2] {
    [24_000 + 200 * round as u16, 30_000 + 100 * round as u16]
}

/// The checksum of Sensirion's words.
fn checksum(word: [u8; 2]) -> u8 {
    let step = |sum: u8, _| if sum & 0x80 == 0 { sum << 1 } else { sum << 1 ^ 0x31 };
    word.into_iter().fold(0xff, |sum, byte| (0..8).fold(sum ^ byte, step))
}

/// Plays the bridge, and a sensor behind it that acknowledges a read only when its measurement has
/// ended, after 8.3 ms.
fn play_sensor(me: &Me) {
    const MEASURE: u8 = 0xfd;
    const MEASUREMENT: u64 = 8_300; // microseconds
    let (mut port, mut status, mut round, mut begun) = (PORT_2, SUCCESS, 0, 0);
    loop {
        let mut head = [0; 3];
        port.read_blocking(me, 3, &mut head);
        match head {
            [b'R', STATUS, b'P'] => port.write_blocking(me, &[status]),
            [b'S', 0x88, 1] => {
                let mut rest = [0; 2];
                port.read_blocking(me, 2, &mut rest);
                assert_eq!(rest, [MEASURE, b'P']);
                event!("measures");
                status = if round == SILENT { NO_ACKNOWLEDGE } else { SUCCESS };
                (begun, round) = (time::now(), round + 1);
            }
            [b'S', 0x89, 6] => {
                port.read_blocking(me, 1, &mut [0]);
                if time::now() - begun < MEASUREMENT {
                    status = NO_ACKNOWLEDGE;
                    continue;
                }
                status = SUCCESS;
                // The bits on the wire.
                ThreadDelays::<Clock>::new(me).delay_us(700);
                for word in played(round - 1).map(u16::to_be_bytes) {
                    port.write_blocking(me, &[word[0], word[1], checksum(word)]);
                }
            }
            _ => panic!("the bridge has no command {head:02x?}"),
        }
    }
}

/// The reading that a round must give, by the formulas of the sensor's data sheet.
fn expected(round: usize) -> Result<Reading, Error> {
    if round == SILENT {
        return Err(Error::I2c(BridgeError::NoDevice));
    }
    let [temperature, humidity] = played(round).map(i64::from);
    Ok(Reading {
        temperature: (17_500 * temperature / 65_535 - 4_500) as i32,
        humidity: (12_500 * humidity / 65_535 - 600) as i32,
    })
}

fn report(me: &Me) {
    for round in 0..ROUNDS {
        let reading = READINGS.receive(me);
        match reading {
            Ok(Reading { temperature: t, humidity: h }) => {
                event!("{}.{:02} degrees, {}.{:02} %", t / 100, t % 100, h / 100, h % 100);
            }
            Err(error) => event!("{error:?}"),
        }
        assert_eq!(reading, expected(round));
    }
    board::exit(true)
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    tandem::start(&STACK, || {
        let sensor = SENSOR.spawn(Priority::new(3), "sensor", play_sensor);
        let reporter = REPORTER.spawn(Priority::new(1), "reporter", report);
        let reader = READER.spawn(Priority::new(2), "reader", read(Bridge::new(PORT_1)));
        assert!(sensor.is_ok() && reporter.is_ok() && reader.is_ok());
    })
}
