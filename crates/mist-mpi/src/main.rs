//! Carries the messages of one rank over MPI. `mist` starts it when it finds itself under an MPI launcher.

mod flight;
mod mist;
mod watch;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use mist_mpi::{Frame, TIMEOUT, TIMEOUT_VARIABLE};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Source};

use flight::Flight;
use mist::{Heard, Mist};
use watch::Watch;

/// Messages of the trainings.
const MESSAGE: i32 = 1;
/// "I am alive."
pub(crate) const BEAT: i32 = 2;
/// "I shall say nothing more."
const BYE: i32 = 3;
/// Polls in a row before the processor is left to others.
const PATIENCE: u32 = 50;
const PAUSE: Duration = Duration::from_micros(50);
const IDLE: Duration = Duration::from_millis(5);
/// Between two looks at who lives: of a thousand ranks, each costs something.
const LOOK: Duration = Duration::from_millis(50);

fn main() -> ExitCode {
    let Some(universe) = mpi::initialize() else {
        eprintln!("error: MPI runs already");
        return ExitCode::FAILURE;
    };
    let world = universe.world();
    let mut carrier = Carrier::new(world);
    match carrier.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => carrier.abort(&why),
    }
}

/// Where MPI calls this process runs, for messages.
fn host() -> String {
    mpi::environment::processor_name().unwrap_or_default()
}

/// Between one `mist` and the other carriers.
struct Carrier {
    world: SimpleCommunicator,
    mist: Mist,
    watch: Watch,
    /// The exchange under way.
    exchange: Option<Exchange>,
    /// Goodbyes heard, this rank's own among them.
    goodbyes: Vec<bool>,
}

/// Messages on their way.
struct Exchange {
    sending: Vec<Flight>,
    receiving: Vec<Option<Flight>>,
    received: Vec<Option<Vec<u8>>>,
}

impl Carrier {
    fn new(world: SimpleCommunicator) -> Self {
        let seconds = std::env::var(TIMEOUT_VARIABLE).ok();
        let seconds = seconds.and_then(|text| text.parse().ok());
        let timeout = seconds.map_or(TIMEOUT, Duration::from_secs_f64);
        let (rank, size) = (world.rank() as usize, world.size() as usize);
        Self {
            mist: Mist::listen(rank, size),
            watch: Watch::new(&world, timeout, &host()),
            world,
            exchange: None,
            goodbyes: vec![false; size],
        }
    }

    fn run(&mut self) -> Result<(), String> {
        let (mut idle_polls, mut looked) = (0u32, Instant::now());
        while !self.goodbyes.iter().all(|said| *said) {
            let (rank, host) = (self.world.rank(), host());
            match self.mist.next() {
                Some(Heard::Frame(Frame::Messages(messages))) => {
                    self.exchange = Some(self.depart(messages)?);
                    idle_polls = 0;
                }
                Some(Heard::Frame(Frame::Bye)) => self.say_goodbye(),
                Some(Heard::Frame(_)) => {}
                Some(Heard::End) if self.goodbyes[rank as usize] => {}
                Some(Heard::End) => return Err(format!("rank {rank} on {host} died")),
                None => {}
            }
            let silence = self.mist.silence();
            if silence > self.watch.timeout() && !self.goodbyes[rank as usize] {
                let seconds = silence.as_secs_f32();
                return Err(format!(
                    "rank {rank} on {host} has not moved for {seconds:.0} s"
                ));
            }
            if looked.elapsed() > LOOK {
                looked = Instant::now();
                self.watch.beat(&self.world, &self.goodbyes)?;
                self.hear_goodbyes();
            }
            if self.arrive()? {
                idle_polls = 0;
            }
            idle_polls = idle_polls.saturating_add(1);
            match (self.exchange.is_some(), idle_polls > PATIENCE) {
                (true, false) => std::thread::yield_now(),
                (true, true) => std::thread::sleep(PAUSE),
                (false, _) => self.mist.wait(IDLE),
            }
        }
        Ok(())
    }

    /// Sends a message to each rank.
    fn depart(&self, messages: Vec<Vec<u8>>) -> Result<Exchange, String> {
        let size = self.goodbyes.len();
        if messages.len() != size {
            return Err(format!("{} messages for {size} ranks", messages.len()));
        }
        let own = self.world.rank() as usize;
        let mut exchange = Exchange {
            sending: Vec::new(),
            receiving: (0..size).map(|_| None).collect(),
            received: vec![None; size],
        };
        for (rank, message) in messages.into_iter().enumerate() {
            if rank == own {
                exchange.received[rank] = Some(message);
            } else {
                let to = self.world.process_at_rank(rank as i32);
                exchange.sending.push(Flight::to(&to, message, MESSAGE));
            }
        }
        Ok(exchange)
    }

    /// Moves the exchange on; whether something happened.
    fn arrive(&mut self) -> Result<bool, String> {
        let Some(exchange) = &mut self.exchange else {
            return Ok(false);
        };
        let mut moved = false;
        exchange
            .sending
            .retain_mut(|flight| flight.landed().is_none());
        for rank in 0..exchange.received.len() {
            if exchange.received[rank].is_some() {
                continue;
            }
            if exchange.receiving[rank].is_none() {
                let from = self.world.process_at_rank(rank as i32);
                let probed = from.immediate_matched_probe_with_tag(MESSAGE);
                if probed.is_none() && self.goodbyes[rank] {
                    self.give_up(rank)?;
                    return Ok(true);
                }
                exchange.receiving[rank] = probed.map(Flight::of);
            }
            if let Some(flight) = &mut exchange.receiving[rank]
                && let Some(message) = flight.landed()
            {
                exchange.received[rank] = Some(message);
                exchange.receiving[rank] = None;
                moved = true;
            }
        }
        let done = exchange.sending.is_empty() && exchange.received.iter().all(Option::is_some);
        if done && let Some(exchange) = self.exchange.take() {
            let received = exchange.received.into_iter().flatten().collect();
            self.mist.say(&Frame::Messages(received))?;
        }
        Ok(moved || done)
    }

    /// A rank ended before an exchange: not a fault of the job, but none that can be had.
    fn give_up(&mut self, rank: usize) -> Result<(), String> {
        if let Some(exchange) = self.exchange.take() {
            let receiving = exchange.receiving.into_iter().flatten();
            exchange
                .sending
                .into_iter()
                .chain(receiving)
                .for_each(Flight::forget);
        }
        self.mist
            .say(&Frame::Lost(format!("rank {rank} has ended")))
    }

    /// Nobody is given up for silence from now on but those that have not said goodbye.
    fn say_goodbye(&mut self) {
        let own = self.world.rank();
        for rank in 0..self.world.size() {
            if rank == own {
                self.goodbyes[own as usize] = true;
            } else {
                let to = self.world.process_at_rank(rank);
                Flight::to(&to, Vec::new(), BYE).forget();
            }
        }
    }

    fn hear_goodbyes(&mut self) {
        for rank in 0..self.goodbyes.len() {
            let from = self.world.process_at_rank(rank as i32);
            if !self.goodbyes[rank]
                && rank != self.world.rank() as usize
                && let Some(message) = from.immediate_matched_probe_with_tag(BYE)
            {
                Flight::of(message).forget();
                self.goodbyes[rank] = true;
            }
        }
    }

    /// Ends the whole job.
    fn abort(&mut self, why: &str) -> ! {
        eprintln!("error: {why}; the training ends, `--resume` continues from its last checkpoint");
        // It may be the one that is gone.
        let _ = self.mist.say(&Frame::Lost(why.to_owned()));
        self.world.abort(1)
    }
}
