//! One thing that can be asked for, and what it needs to be read.

use probe::nvml::Wants;

use super::value::Unit;

/// A field, and how it is read of a card or of a holder.
#[derive(Debug)]
pub struct Field<R> {
    /// The first is the one that is shown.
    pub names: &'static [&'static str],
    pub unit: Unit,
    pub needs: Need,
    /// In one sentence.
    pub means: &'static str,
    pub read: R,
}

impl<R> Field<R> {
    pub fn column(&self) -> Column {
        let Self { names, unit, means, .. } = self;
        Column { names, unit: *unit, means }
    }
}

/// What is shown of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    pub names: &'static [&'static str],
    pub unit: Unit,
    pub means: &'static str,
}

impl Column {
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }

    /// Its name in JSON, where points are awkward and the unit is part of the name.
    #[must_use]
    pub fn key(&self) -> String {
        let name = self.name().replace('.', "_");
        match self.unit.suffix() {
            Some(unit) => format!("{name}_{unit}"),
            None => name,
        }
    }
}

/// What is read for a field besides utilization, memory and holders, which tell whether a
/// card can be read at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    Nothing,
    /// Utilization over all of the time since the last look.
    Work,
    Power,
    SetPowerLimit,
    Energy,
    Temperature,
    Clocks,
    Codecs,
    Fan,
    MemoryWork,
    Performance,
    ComputeMode,
    Persistence,
    Mig,
    Shares,
    /// The holders' command lines.
    Commands,
}

/// What is read for all fields of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    pub wants: Wants,
    pub work: bool,
    pub commands: bool,
}

impl FromIterator<Need> for Needs {
    fn from_iter<I: IntoIterator<Item = Need>>(needs: I) -> Self {
        let mut all = Self { wants: Wants::ESSENTIALS, work: false, commands: false };
        needs.into_iter().for_each(|need| all.add(need));
        all
    }
}

impl Needs {
    const fn add(&mut self, need: Need) {
        let wants = &mut self.wants;
        let wanted = match need {
            Need::Nothing => return,
            Need::Work => &mut self.work,
            Need::Power => &mut wants.power,
            Need::SetPowerLimit => &mut wants.set_power_limit,
            Need::Energy => &mut wants.energy,
            Need::Temperature => &mut wants.temperature,
            Need::Clocks => &mut wants.clocks,
            Need::Codecs => &mut wants.codecs,
            Need::Fan => &mut wants.fan,
            Need::MemoryWork => &mut wants.memory_work,
            Need::Performance => &mut wants.performance,
            Need::ComputeMode => &mut wants.compute_mode,
            Need::Persistence => &mut wants.persistence,
            Need::Mig => &mut wants.mig,
            Need::Shares => &mut wants.shares,
            Need::Commands => &mut self.commands,
        };
        *wanted = true;
    }
}

/// Fields, a line or two each: names, unit, what they need, how they are read, what they mean.
macro_rules! fields {
    ($([$($name:literal)|+] $unit:ident $needs:ident $read:expr, $means:literal;)*) => {
        &[$($crate::report::query::field::Field {
            names: &[$($name),+],
            unit: $crate::report::query::value::Unit::$unit,
            needs: $crate::report::query::field::Need::$needs,
            means: $means,
            read: $read,
        }),*]
    };
}

pub(super) use fields;
