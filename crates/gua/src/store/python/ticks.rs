//! Ticks: the rows of one run and one time, of both tables.

use probe::units::UnixMillis;
use rusqlite::{Row, Rows};

use super::super::error::StoreError;
use super::moment::Moments;
use super::rows::{GPU_COLUMNS, GpuRow, PROCESS_COLUMNS, ProcessRow, Texts};
use super::source::Source;
use super::survey::{Plan, Table, run};
use super::tally::Refused;

/// All cards at one time. Each process is of one of the cards.
#[derive(Debug)]
pub(super) struct Tick {
    pub at: UnixMillis,
    pub run: Option<i64>,
    pub cards: Vec<GpuRow>,
    pub processes: Vec<ProcessRow>,
    /// Two ticks may differ in less than a millisecond.
    text: String,
}

impl Tick {
    fn key(&self) -> (UnixMillis, &str, Option<i64>) {
        (self.at, &self.text, self.run)
    }
}

/// Rows of one table, one ahead.
struct Cursor<'s, R> {
    rows: Rows<'s>,
    moments: Moments,
    head: Option<(UnixMillis, Option<i64>, R)>,
}

impl<'s, R: Copy> Cursor<'s, R> {
    fn new(rows: Rows<'s>) -> Self {
        Self { rows, moments: Moments::default(), head: None }
    }

    /// Goes to the next row that makes sense.
    fn advance(
        &mut self,
        refused: &mut u64,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<Option<R>>,
    ) -> Result<(), StoreError> {
        self.head = None;
        while let Some(row) = self.rows.next().map_err(StoreError::of_source)? {
            // The survey has counted those without a time.
            let Some(at) = self.moments.read(row.get_ref(0)?) else { continue };
            if let (Some(run), Some(values)) = (run(row.get_ref(1)?), read(row)?) {
                self.head = Some((at, run, values));
                return Ok(());
            }
            *refused += 1;
        }
        Ok(())
    }

    fn key(&self) -> Option<(UnixMillis, &str, Option<i64>)> {
        let (at, run, _) = self.head.as_ref()?;
        Some((*at, self.moments.text(), *run))
    }

    /// The row that is next, where it is of the tick.
    fn of(&self, tick: &Tick) -> Option<R> {
        let (_, _, row) = self.head?;
        (self.key() == Some(tick.key())).then_some(row)
    }
}

/// Tells every tick in the order of time.
pub(super) fn each(
    source: &Source,
    plan: &Plan,
    texts: &mut Texts,
    refused: &mut Refused,
    mut tell: impl FnMut(&Tick, &Texts) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut gpus = source.database.prepare(&plan.query(source, Table::Gpu, &GPU_COLUMNS))?;
    let mut gpus = Cursor::new(gpus.query([])?);
    let processes = plan.query(source, Table::Process, &PROCESS_COLUMNS);
    let mut processes = source.database.prepare(&processes)?;
    let mut processes = Cursor::new(processes.query([])?);
    gpus.advance(&mut refused.senseless, |row| GpuRow::read(row, texts))?;
    processes.advance(&mut refused.senseless, |row| ProcessRow::read(row, texts))?;
    let mut tick = Tick {
        at: UnixMillis(0),
        run: None,
        cards: Vec::new(),
        processes: Vec::new(),
        text: String::new(),
    };
    while let Some((at, run, _)) = gpus.head {
        (tick.at, tick.run) = (at, run);
        gpus.moments.text().clone_into(&mut tick.text);
        take_cards(&mut tick, &mut gpus, texts, refused)?;
        take_processes(&mut tick, &mut processes, texts, refused)?;
        tell(&tick, texts)?;
    }
    while processes.head.is_some() {
        refused.without_card += 1;
        processes.advance(&mut refused.senseless, |row| ProcessRow::read(row, texts))?;
    }
    Ok(())
}

fn take_cards(
    tick: &mut Tick,
    rows: &mut Cursor<'_, GpuRow>,
    texts: &mut Texts,
    refused: &mut Refused,
) -> Result<(), StoreError> {
    tick.cards.clear();
    while let Some(card) = rows.of(tick) {
        if tick.cards.iter().any(|other| other.uuid == card.uuid) {
            refused.twice += 1;
        } else {
            tick.cards.push(card);
        }
        rows.advance(&mut refused.senseless, |row| GpuRow::read(row, texts))?;
    }
    Ok(())
}

/// A process of a card that has no sample then has no place; nor does the Python gua
/// report it.
fn take_processes(
    tick: &mut Tick,
    rows: &mut Cursor<'_, ProcessRow>,
    texts: &mut Texts,
    refused: &mut Refused,
) -> Result<(), StoreError> {
    tick.processes.clear();
    while rows.key().is_some_and(|key| key <= tick.key()) {
        match rows.of(tick) {
            Some(process) if tick.cards.iter().any(|card| card.uuid == process.uuid) => {
                tick.processes.push(process);
            }
            _ => refused.without_card += 1,
        }
        rows.advance(&mut refused.senseless, |row| ProcessRow::read(row, texts))?;
    }
    Ok(())
}
