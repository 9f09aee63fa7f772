//! A sensor on an RS-485 bus: a coroutine asks it through the crate `max485-async`, a published
//! driver for asynchronous serial ports; a thread averages; a second thread plays the sensor.
//!
//! Wire two transceivers together: one at USART1 (PA9, PA10, and PA8 to DE and /RE), and one that
//! always listens and sends at USART2 (PA2, PA3). Without transceivers, connect PA9 with PA3 and
//! PA10 with PA2. QEMU connects the ports.
//!
//! The requests are Modbus's "read holding registers", function 3.
#![no_std]
#![no_main]

use embassy_futures::select::{Either, select};
use embedded_io_async::{Read, Write};
use max485_async::Max485;
use tandem::{Coroutine, Me, Priority, Queue, SharedStack, Thread, delay_until, time};
use tandem_stm32f4::{self as board, PORT_1, PORT_2, Pin, Port, event};

static STACK: SharedStack<2048> = SharedStack::new();
static MASTER: Coroutine<1024> = Coroutine::new();
static SENSOR: Thread<2048> = Thread::new();
static AVERAGE: Thread<2048> = Thread::new();
static READINGS: Queue<Result<u16, Failure>, 4> = Queue::new();

const ADDRESS: u8 = 17;
const TEMPERATURE: u8 = 4;
/// The time for the sensor to start, between two requests, and for an answer, in microseconds.
const START: u64 = 100_000;
const PERIOD: u64 = 300_000;
const LIMIT: u64 = 250_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    Serial,
    NoAnswer,
    Checksum,
}

fn checksum(bytes: &[u8]) -> [u8; 2] {
    let mut sum = 0xffff_u16;
    for byte in bytes {
        sum ^= u16::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 0 { sum >> 1 } else { sum >> 1 ^ 0xa001 };
        }
    }
    sum.to_le_bytes()
}

/// Reads a register of the sensor. The driver switches the transceiver's direction.
async fn read_register(bus: &mut Max485<Port, Pin>, register: u8) -> Result<u16, Failure> {
    let mut request = [ADDRESS, 3, 0, register, 0, 1, 0, 0];
    let sum = checksum(&request[..6]);
    request[6..].copy_from_slice(&sum);
    bus.write_all(&request).await.map_err(|_| Failure::Serial)?;
    bus.flush().await.map_err(|_| Failure::Serial)?;
    let mut answer = [0; 7];
    match select(bus.read_exact(&mut answer), delay_until(time::now() + LIMIT)).await {
        Either::First(Ok(())) if checksum(&answer[..5]) == answer[5..] => {
            Ok(u16::from_be_bytes([answer[3], answer[4]]))
        }
        Either::First(Ok(())) => Err(Failure::Checksum),
        Either::First(Err(_)) => Err(Failure::Serial),
        Either::Second(()) => Err(Failure::NoAnswer),
    }
}

async fn ask() {
    let mut bus = Max485::new(PORT_1, Pin::transmit());
    let mut due = time::now() + START;
    loop {
        delay_until(due).await;
        let reading = read_register(&mut bus, TEMPERATURE).await;
        READINGS.sent(reading).await;
        due += PERIOD;
    }
}

/// Answers four requests, is silent once, and answers the rest.
fn play_sensor(me: &Me) {
    let mut port = PORT_2;
    for n in 0.. {
        let mut request = [0; 8];
        port.read_blocking(me, 8, &mut request);
        assert!(request[..2] == [ADDRESS, 3] && request[6..] == checksum(&request[..6]));
        event!("asked for register {}", request[3]);
        if n == 4 {
            continue;
        }
        let [high, low] = (200_u16 + n).to_be_bytes();
        let mut answer = [ADDRESS, 3, 2, high, low, 0, 0];
        let sum = checksum(&answer[..5]);
        answer[5..].copy_from_slice(&sum);
        port.write_blocking(me, &answer);
    }
}

fn average(me: &Me) {
    let (mut sum, mut count) = (0, 0);
    for _ in 0..8 {
        match READINGS.receive(me) {
            Ok(tenths) => {
                (sum, count) = (sum + u32::from(tenths), count + 1);
                let mean = sum / count;
                event!("{}.{} degrees, mean {}.{}", tenths / 10, tenths % 10, mean / 10, mean % 10);
            }
            Err(failure) => event!("{failure:?}"),
        }
    }
    board::exit(count == 7 && sum == 200 + 201 + 202 + 203 + 205 + 206 + 207)
}

#[board::entry]
fn main() -> ! {
    board::set_up();
    tandem::start(&STACK, || {
        let sensor = SENSOR.spawn(Priority::new(3), "sensor", play_sensor);
        let average = AVERAGE.spawn(Priority::new(1), "average", average);
        let master = MASTER.spawn(Priority::new(2), "master", ask());
        assert!(sensor.is_ok() && average.is_ok() && master.is_ok());
    })
}
