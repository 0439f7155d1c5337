//! How accounts, sessions and money read, on answers made by hand.

use std::collections::BTreeMap;

use gua_query::page::UsagePage;
use gua_query::usage::{
    AccountName, By, CardTotals, Prices, Suggestion, Unattributed, Usage, UsageRequest,
};
use gua_store::{CardTimes, HolderSums, HolderTimes};
use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::examples::{self, beside, prices, week_of};
use super::{View, csv, energy, html, lines, markdown};
use crate::cli::ReportTable;
use crate::render::paint::Paint;

fn view(width: usize, usage: &Usage) -> View {
    View {
        paint: Paint(false),
        width,
        is_wide: false,
        tz: TimeZone::UTC,
        now: usage.window.to,
        command: "gua report".to_owned(),
        sessions: 5,
        is_here: false,
    }
}

fn week(ask: impl FnOnce(&mut UsageRequest)) -> Usage {
    week_of("bob", "home/bob/exp/sweep.ipynb", ask)
}

fn everything(request: &mut UsageRequest) {
    request.by = vec![By::User, By::Notebook];
    request.prices = prices(&[("a100", 2.5)]);
}

/// From a heading on.
fn from(usage: &Usage, width: usize, heading: &str) -> String {
    let lines = lines(usage, &view(width, usage));
    let begin = lines.iter().position(|line| line.starts_with(heading)).unwrap();
    lines[begin..].join("\n")
}

#[test]
fn on_a_wide_screen() {
    let usage = week(everything);
    insta::assert_snapshot!(lines(&usage, &view(100, &usage)).join("\n"), @"
    gua — lab-a100 (driver 560.35.05)   8 Nov 20:00 → 15 Nov 2026 20:00 UTC, 7d, 100.0 % observed

    §1 Headline
      basis: card time. A card is active during every 5 seconds of enough utilization. Thresholds:
      active ≥ 10 % utilization, held > 100 MiB, working ≥ 1 % of the SMs.
      ██████████████████▒▒▒▒▒▒▒▒▒▒▒▒▒▒░░░░░░░░░░░░░░░░░░░░░░░░░░░░
      active      █  29.8 %  150 GPU-h
      idle-held   ▒  23.8 %  120 GPU-h   $300
      truly-idle  ░  46.4 %  234 GPU-h  ≥$215

    §2 Idle capacity
      idle-held   120 GPU-h, as much as 0.7 of 3 cards held all the time; $300, $1,286 a month at this
                  pace
      truly-idle  234 GPU-h, as much as 1.4 of 3 cards free all the time; ≥$215, ≥$921 a month at this
                  pace
      money: $2.50 a GPU-hour; no price for RTX 4090, which is left out; a month is 30 days at the pace
      of the 7d observed

    §3 Per-GPU
      #  card            active  idle-held  truly-idle
      0  A100-SXM4-80GB  35.7 %     23.8 %      40.5 %  █████████▒▒▒▒▒▒░░░░░░░░░
      1  A100-SXM4-80GB  41.7 %     47.6 %      10.7 %  ██████████▒▒▒▒▒▒▒▒▒▒▒░░░
      2  RTX 4090        11.9 %      0.0 %      88.1 %  ███░░░░░░░░░░░░░░░░░░░░░

    §4 Accounts (GPU-hours; shared cards are split; columns add up to §1)
      user      active  idle-held  = unused  + low use  unknown  total  share  cost of idle
      bob           70         70        62          8        0    140   52 %          $175
      alice         60         40        40          0        0    100   37 %          $100
      carol         20          0         0          0        0     20    7 %            $0
      unlisted       0         10        10          0        0     10    4 %           $25
      all          150        120       112          8        0    270  100 %          $300

      notebook                  who  active  idle-held  = unused  + low use  total  share  cost of idle
      home/bob/exp/sweep.ipynb  bob      70         70        62          8    140   52 %          $175
      no notebook                        80         40        40          0    120   44 %          $100
      unlisted                            0         10        10          0     10    4 %           $25
      all                               150        120       112          8    270  100 %          $300
      unused: memory held, no work. low use: work below 10 % of the card. unlisted: memory that no
      listed process holds.

    §5 Time-of-day heatmap (UTC)
           00       03       06       09       12       15       18       21
      Sun  ····························································████████████
      Mon  ████████████████████████████████████████████████▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓
      Tue  ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓
      Wed  ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒··················
      Thu  ········································································
      Fri  ········································································
      Sat  ········································································
      share of card time active: · none, ░ under 25 %, ▒ under 50 %, ▓ under 75 %, █ more; blank: not
      observed

    Holding sessions
      commands are for lab-a100
      now, longest first
       idle  who  card   memory  what                    pid  when
      2d14h  bob     1  7.5 GiB  job 4711, sweep.ipynb  5001  since 13 Nov 06:00
        → ask: `gua who --user 1001`, end: `scancel 4711`
      ended, longest first
       idle  who    card    memory  what                                 pid  when
      1d16h  alice     0  56.8 GiB  train.py                            5000  9 Nov 16:00 → 11 Nov 08:00
       ≥10h  bob       1         ?  train.py (bare CUDA context) (bes…  5001  8 Nov 20:00 → 9 Nov 06:00

    Verdict
      Idle-held is 23.8 % of the observed card time, over the 20 % line: a matter of allocation, not of
      too few cards. It cost $300, $1,286 a month at this pace.
      Three sessions make up 83.8 % of it:
      bob    job 4711, sweep.ipynb                        card 1  2d14h, still on  → gua who --user 1001
      alice  train.py                                     card 0  1d16h
      bob    train.py (bare CUDA context) (beside other…  card 1  ≥10h
    ");
}

#[test]
fn on_the_narrowest_screen() {
    let usage = week(everything);
    insta::assert_snapshot!(from(&usage, 40, "§4"), @"
    §4 Accounts (GPU-hours; shared cards are
    split; columns add up to §1)
      user      active  idle-held  total
      bob           70         70    140
      alice         60         40    100
      carol         20          0     20
      unlisted       0         10     10
      all          150        120    270

      notebook      active  idle-held  total
      …sweep.ipynb      70         70    140
      no notebook       80         40    120
      unlisted           0         10     10
      all              150        120    270
      unlisted: memory that no listed
      process holds.

    §5 Time-of-day heatmap (UTC)
           00 03 06 09 12 15 18 21
      Sun  ····················████
      Mon  ████████████████▓▓▓▓▓▓▓▓
      Tue  ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓
      Wed  ▓▓▓▓▓▓▓▓▒▒▒▒▒▒▒▒▒▒······
      Thu  ························
      Fri  ························
      Sat  ························
      share of card time active: · none, ░
      under 25 %, ▒ under 50 %, ▓ under
      75 %, █ more; blank: not observed

    Holding sessions
      commands are for lab-a100
      now, longest first
       idle  who  card   memory  what
      2d14h  bob     1  7.5 GiB  job 471…
        → ask: `gua who --user 1001`, end:
        `scancel 4711`
      ended, longest first
       idle  who    card    memory  what
      1d16h  alice     0  56.8 GiB  train.py
       ≥10h  bob       1         ?  train.p…

    Verdict
      Idle-held is 23.8 % of the observed
      card time, over the 20 % line: a
      matter of allocation, not of too few
      cards. It cost $300, $1,286 a month at
      this pace.
      Three sessions make up 83.8 % of it:
      bob    …  card 1  2d14h, still on  → …
      alice  …  card 0  1d16h
      bob    …  card 1  ≥10h
    ");
}

#[test]
fn the_page_for_one_person() {
    let usage = week(|request| {
        everything(request);
        request.user = Some("bob".to_owned());
    });
    insta::assert_snapshot!(lines(&usage, &view(80, &usage)).join("\n"), @"
    gua — lab-a100 (driver 560.35.05)
    8 Nov 20:00 → 15 Nov 2026 20:00 UTC, 7d, 100.0 % observed

    What bob held
      total          140 GPU-h  51.9 % of what all held; shared cards are split
      active          70 GPU-h
      idle-held       70 GPU-h  58.3 % of all
      = unused        62 GPU-h  memory held, no work
      + low use        8 GPU-h  work below 10 % of the card
      beside others     60.0 h  idle while others worked on the card
      memory         956 GiB-h  held idle
      peak             7.8 GiB  most memory of one process on one card
      energy             0 kWh  of the active and idle-held time
      cost                $175  of idle-held

    Where
      user  active  idle-held  = unused  + low use  total  share  cost of idle
      bob       70         70        62          8    140   52 %          $175
      all       70         70        62          8    140   52 %          $175

      notebook           active  idle-held  = unused  + low use  total  cost of idle
      …/exp/sweep.ipynb      70         70        62          8    140          $175
      all                    70         70        62          8    140          $175
      unused: memory held, no work. low use: work below 10 % of the card.

    Holding sessions
      commands are for lab-a100
      now, longest first
       idle  card   memory  what                    pid  when
      2d14h     1  7.5 GiB  job 4711, sweep.ipynb  5001  since 13 Nov 06:00
        → ask: `gua who --user 1001`, end: `scancel 4711`
      ended, longest first
      idle  card  memory  what                        pid  when
      ≥10h     1       ?  train.py (bare CUDA cont…  5001  8 Nov 20:00 → 9 Nov 06:00

    Suggestion
      End job 4711, sweep.ipynb on card 1: it has held 7.5 GiB for 2d14h without
      working.
      → scancel 4711
    ");
}

/// The page of one person in every format for people.
fn pages_of_one(usage: &Usage) -> [String; 3] {
    let view = view(100, usage);
    let (mut page, mut marked) = (Vec::new(), Vec::new());
    html::write(&mut page, &UsagePage::from(usage.clone()), &view).unwrap();
    markdown::write(&mut marked, usage, &view).unwrap();
    let [page, marked] = [page, marked].map(|bytes| String::from_utf8(bytes).unwrap());
    [lines(usage, &view).join("\n"), marked, page.replace("</td><td class=\"quiet\">", " ")]
}

#[test]
fn page_for_one_person_has_cost_and_basis_of_energy() {
    let mut usage = week(|request| {
        request.user = Some("bob".to_owned());
        request.prices.kwh = Some(0.3);
    });
    usage.energy.energy_divided = true;
    usage.energy.energy_estimated_gpu_hours = 24.0;
    let account = &mut usage.person.as_mut().unwrap().account;
    (account.energy.energy_kwh, account.energy.active_energy_kwh) = (Some(20.0), Some(20.0));
    account.energy.energy_unknown_gpu_hours = 3.0;
    account.energy_cost = Some(6.0);
    for page in pages_of_one(&usage) {
        for part in ["≥20.000 kWh", "≥6.00", "divided by slices", "24 GPU-h is from power × time"]
        {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
    let account = &mut usage.person.as_mut().unwrap().account;
    (account.energy.energy_kwh, account.energy.active_energy_kwh) = (None, None);
    account.energy_cost = None;
    for page in pages_of_one(&usage) {
        assert!(page.contains("? kWh"), "{page}");
    }
}

#[test]
fn beside_an_earlier_window() {
    let before = week_of("eve", "x.ipynb", everything);
    let usage = beside(week(everything), &before);
    insta::assert_snapshot!(from(&usage, 80, "Compared"), @"
    Compared with 8 Nov 20:00 → 15 Nov 2026 20:00 UTC, 7d, 100.0 % observed
                                            now  before  difference
      active                             29.8 %  29.8 %    0 points
      idle-held                          23.8 %  23.8 %    0 points
      truly-idle                         46.4 %  46.4 %    0 points
      idle-held GPU-h                       120     120           0
      idle-held cards                       0.7     0.7           0
      idle-held cost                       $300    $300          $0
      idle-held GPU-h by user
        bob                                  70       0         +70
        eve                                   0      70         −70
        alice                                40      40           0
        unlisted                             10      10           0
      idle-held GPU-h by notebook
        home/bob/exp/sweep.ipynb of bob      70       0         +70
        x.ipynb of eve                        0      70         −70
        no notebook                          40      40           0
        unlisted                             10      10           0

    Verdict
      Idle-held is 23.8 % of the observed card time, over the 20 % line: a matter of
      allocation, not of too few cards. It cost $300, $1,286 a month at this pace.
      Three sessions make up 83.8 % of it:
      bob    job 4711, sweep.ipynb    card 1  2d14h, still on  → gua who --user 1001
      alice  train.py                 card 0  1d16h
      bob    train.py (bare CUDA co…  card 1  ≥10h
    ");
}

#[test]
fn as_markdown() {
    let usage = beside(week(everything), &week(everything));
    let mut out = Vec::new();
    markdown::write(&mut out, &usage, &view(80, &usage)).unwrap();
    let shown = String::from_utf8(out).unwrap();
    let (_, rest) = shown.split_once("## §4").unwrap();
    let (people, rest) = rest.split_once("## §5").unwrap();
    let (_, rest) = rest.split_once("## Holding").unwrap();
    insta::assert_snapshot!(format!("{people}…{rest}"), @"
     Accounts (GPU-hours; shared cards are split; columns add up to §1)

    | user | active | idle-held | = unused | + low use | unknown | total | share | cost of idle |
    |---|---:|---:|---:|---:|---:|---:|---:|---:|
    | bob | 70 | 70 | 62 | 8 | 0 | 140 | 52 % | $175 |
    | alice | 60 | 40 | 40 | 0 | 0 | 100 | 37 % | $100 |
    | carol | 20 | 0 | 0 | 0 | 0 | 20 | 7 % | $0 |
    | unlisted | 0 | 10 | 10 | 0 | 0 | 10 | 4 % | $25 |
    | all | 150 | 120 | 112 | 8 | 0 | 270 | 100 % | $300 |

    | notebook | who | active | idle-held | = unused | + low use | unknown | total | share | cost of idle |
    |---|---|---:|---:|---:|---:|---:|---:|---:|---:|
    | home/bob/exp/sweep.ipynb | bob | 70 | 70 | 62 | 8 | 0 | 140 | 52 % | $175 |
    | no notebook |  | 80 | 40 | 40 | 0 | 0 | 120 | 44 % | $100 |
    | unlisted |  | 0 | 10 | 10 | 0 | 0 | 10 | 4 % | $25 |
    | all |  | 150 | 120 | 112 | 8 | 0 | 270 | 100 % | $300 |

    unused: memory held, no work. low use: work below 10 % of the card. unlisted: memory that no listed process holds.

    … sessions

    commands are for lab-a100

    now, longest first

    | idle | who | card | memory | what | pid | when |
    |---:|---|---:|---:|---|---:|---|
    | 2d14h | bob | 1 | 7.5 GiB | job 4711, sweep.ipynb | 5001 | since 13 Nov 06:00 |

    - bob, card 1: ask: `gua who --user 1001`, end: `scancel 4711`

    ended, longest first

    | idle | who | card | memory | what | pid | when |
    |---:|---|---:|---:|---|---:|---|
    | 1d16h | alice | 0 | 56.8 GiB | train.py | 5000 | 9 Nov 16:00 → 11 Nov 08:00 |
    | ≥10h | bob | 1 | ? | train.py (bare CUDA context) (beside others) | 5001 | 8 Nov 20:00 → 9 Nov 06:00 |

    ## Compared with 8 Nov 20:00 → 15 Nov 2026 20:00 UTC, 7d, 100.0 % observed

    |  | now | before | difference |
    |---|---:|---:|---:|
    | active | 29.8 % | 29.8 % | 0 points |
    | idle-held | 23.8 % | 23.8 % | 0 points |
    | truly-idle | 46.4 % | 46.4 % | 0 points |
    | idle-held GPU-h | 120 | 120 | 0 |
    | idle-held cards | 0.7 | 0.7 | 0 |
    | idle-held cost | $300 | $300 | $0 |
    | idle-held GPU-h by user |  |  |  |
    |   bob | 70 | 70 | 0 |
    |   alice | 40 | 40 | 0 |
    |   unlisted | 10 | 10 | 0 |
    | idle-held GPU-h by notebook |  |  |  |
    |   home/bob/exp/sweep.ipynb of bob | 70 | 70 | 0 |
    |   no notebook | 40 | 40 | 0 |
    |   unlisted | 10 | 10 | 0 |

    ## Verdict

    Idle-held is 23.8 % of the observed card time, over the 20 % line: a matter of allocation, not of too few cards. It cost $300, $1,286 a month at this pace.

    Three sessions make up 83.8 % of it:

    - bob, job 4711, sweep.ipynb, card 1, 2d14h, still on, → gua who --user 1001
    - alice, train.py, card 0, 1d16h
    - bob, train.py (bare CUDA context) (beside others), card 1, ≥10h
    ");
}

#[test]
fn with_the_columns_of_wide() {
    let usage = week(everything);
    let accounts = |width| {
        let lines = lines(&usage, &View { is_wide: true, ..view(width, &usage) });
        let rows = lines.iter().skip_while(|line| !line.starts_with("§4"));
        let rows: Vec<_> = rows.take_while(|line| !line.starts_with("§5")).cloned().collect();
        rows.join("\n")
    };
    insta::assert_snapshot!(format!("{}\n{}", accounts(160), accounts(80)), @"
    §4 Accounts (GPU-hours; shared cards are split; columns add up to §1)
      user      active  idle-held  = unused  + low use  unknown  total  share  cost of idle  idle GiB-h  beside h      peak  kWh
      bob           70         70        62          8        0    140   52 %          $175         956      60.0   7.8 GiB    0
      alice         60         40        40          0        0    100   37 %          $100       2,344         0  58.6 GiB    0
      carol         20          0         0          0        0     20    7 %            $0           0         0   8.8 GiB    0
      unlisted       0         10        10          0        0     10    4 %           $25          10         0   1.0 GiB    0
      all          150        120       112          8        0    270  100 %          $300       3,310      60.0  58.6 GiB    0

      notebook                  who  active  idle-held  = unused  + low use  unknown  total  share  cost of idle  idle GiB-h  beside h      peak  kWh
      home/bob/exp/sweep.ipynb  bob      70         70        62          8        0    140   52 %          $175         956      60.0   7.8 GiB    0
      no notebook                        80         40        40          0        0    120   44 %          $100       2,344         0  58.6 GiB    0
      unlisted                            0         10        10          0        0     10    4 %           $25          10         0   1.0 GiB    0
      all                               150        120       112          8        0    270  100 %          $300       3,310      60.0  58.6 GiB    0
      unused: memory held, no work. low use: work below 10 % of the card. unlisted: memory that no listed process holds. idle GiB-h: memory held without working,
      over time. beside h: idle while others worked on the card, in hours of processes. peak: most memory of one process on one card. kWh: energy of the active and
      idle-held time.

    §4 Accounts (GPU-hours; shared cards are split; columns add up to §1)
      user      active  idle-held  total  idle GiB-h  beside h      peak  kWh
      bob           70         70    140         956      60.0   7.8 GiB    0
      alice         60         40    100       2,344         0  58.6 GiB    0
      carol         20          0     20           0         0   8.8 GiB    0
      unlisted       0         10     10          10         0   1.0 GiB    0
      all          150        120    270       3,310      60.0  58.6 GiB    0

      notebook         active  idle-held  total  idle GiB-h  beside h      peak  kWh
      …xp/sweep.ipynb      70         70    140         956      60.0   7.8 GiB    0
      no notebook          80         40    120       2,344         0  58.6 GiB    0
      unlisted              0         10     10          10         0   1.0 GiB    0
      all                 150        120    270       3,310      60.0  58.6 GiB    0
      unlisted: memory that no listed process holds. idle GiB-h: memory held without
      working, over time. beside h: idle while others worked on the card, in hours
      of processes. peak: most memory of one process on one card. kWh: energy of the
      active and idle-held time.
    ");
}

#[test]
fn account_without_card_time_has_a_row_only_with_its_columns() {
    let mut usage = week(|request| request.by = vec![By::User]);
    let mut sleeper = usage.accounts[2].clone();
    sleeper.name = Some("sleeper".to_owned());
    (sleeper.active_gpu_hours, sleeper.total_gpu_hours) = (0.0, 0.0);
    sleeper.idle_beside_process_hours = Some(13.0);
    usage.accounts.push(sleeper);
    let view = view(160, &usage);
    let wide = View { is_wide: true, ..view.clone() };
    let has = |view: &View| lines(&usage, view).iter().any(|line| line.contains("sleeper"));
    assert_eq!([has(&view), has(&wide)], [false, true]);
    let mut page = Vec::new();
    html::write(&mut page, &UsagePage::from(usage.clone()), &view).unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(page.contains("<tr class=\"more\"><th scope=\"row\">sleeper</th>"), "{page}");
}

#[test]
fn suggestion_names_what_runs_without_a_remark() {
    let mut usage = week(|request| request.user = Some("bob".to_owned()));
    usage.sessions[0].busy_card_seconds = usage.sessions[0].idle_seconds;
    let person = usage.person.as_mut().unwrap();
    person.suggestion = Suggestion::FreeMemory { session: 0, command: None };
    let shown = lines(&usage, &view(100, &usage)).join("\n");
    assert!(shown.contains("Give back the memory of job 4711, sweep.ipynb on card 1:"), "{shown}");
}

/// Returns a table of CSV.
fn csv_table(usage: &Usage, which: ReportTable) -> String {
    let mut out = Vec::new();
    csv::write(&mut out, usage, which).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn as_tables_for_a_spreadsheet() {
    let users = |request: &mut UsageRequest| request.prices = prices(&[("a100", 2.5)]);
    let usage = beside(week(users), &week_of("eve", "x.ipynb", users));
    let tables = [
        ReportTable::Accounts,
        ReportTable::Cards,
        ReportTable::Sessions,
        ReportTable::Hours,
        ReportTable::Gaps,
    ];
    let tables = tables.map(|which| {
        let table = csv_table(&usage, which);
        let rows: Vec<_> = table.lines().take(6).collect();
        format!("{which:?}\n{}\n", rows.join("\n"))
    });
    insta::assert_snapshot!(tables.join("\n"));
}

/// Hours of one account: active, unused, low use, unknown.
type RandomHours = [f64; 4];

/// Returns hours of every size, nothing and next to nothing among them.
fn random_hours() -> impl Strategy<Value = RandomHours> {
    let hours = || {
        prop_oneof![
            3 => Just(0.0),
            2 => 0.0..0.02_f64,
            3 => 0.0..12.0_f64,
            2 => 0.0..900.0_f64,
            // Halves of what is printed.
            2 => (0_u32..40).prop_map(|halves| f64::from(halves) / 2.0),
        ]
    };
    [hours(), hours(), hours(), hours()]
}

/// Watts while a card is active, and in other time.
const WATTS: [f64; 2] = [310.0, 57.0];

/// Returns a report on a MIG instance that belonged to these accounts, the first of which is unlisted memory,
/// and to nobody who is known, and on what it leaves of its GPU. Energy of every fourth account is unknown.
fn usage_of(by: By, accounts: &[RandomHours], nobody: RandomHours, free: f64) -> Usage {
    const MS: f64 = 3_600_000.0;
    let mut usage_sums = examples::sums_of_one_card();
    let joules = |hours: f64, watts: f64| hours * 3600.0 * watts;
    let energy = |[active, unused, low_use, _]: RandomHours, is_known: bool| match is_known {
        true => [joules(active, WATTS[0]), joules(unused + low_use, WATTS[1]), 0.0],
        false => [0.0, 0.0, (active + unused + low_use) * MS],
    };
    let mut times = CardTimes::default();
    let mut add = |hours @ [active, unused, low_use, unknown]: RandomHours, is_known: bool| {
        times.active_ms += active * MS;
        times.idle_held_ms += (unused + low_use) * MS;
        times.unknown_ms += unknown * MS;
        let [active_j, idle_held_j, energy_unknown_ms] = energy(hours, is_known);
        times.active_j += active_j;
        times.idle_held_j += idle_held_j;
        times.other_j += joules(unknown, WATTS[1]);
        times.energy_unknown_ms += energy_unknown_ms;
    };
    let has_energy = |place: usize| place % 4 < 3;
    accounts.iter().enumerate().for_each(|(place, hours)| add(*hours, has_energy(place)));
    add(nobody, true);
    for (place, hours @ [active, unused, low_use, unknown]) in accounts.iter().enumerate() {
        let name = match place {
            0 => AccountName::Unattributed(Unattributed::Unlisted),
            _ if by == By::User => AccountName::user(&format!("u{place}")),
            _ => {
                let name: std::sync::Arc<str> = format!("u{place}").into();
                AccountName::Known { id: name.clone(), label: name, user: None }
            }
        };
        let [active_j, idle_held_j, energy_unknown_ms] = energy(*hours, has_energy(place));
        let times = HolderTimes {
            working_ms: (active + low_use) * MS,
            idle_ms: unused * MS,
            active_share_ms: active * MS,
            unused_share_ms: unused * MS,
            low_use_share_ms: low_use * MS,
            unknown_share_ms: unknown * MS,
            memory: (active + unused + low_use) * 1000.0 * 3600.0,
            working_memory: (active + low_use) * 1000.0 * 3600.0,
            active_j,
            idle_held_j,
            energy_unknown_ms,
            ..HolderTimes::default()
        };
        usage_sums.add_holder(by, name, 0, &HolderSums { times, peak_mib: 1000 });
    }
    let gpu = usage_sums.cards.remove(0);
    let free_times =
        CardTimes { free_ms: free * MS, other_j: joules(free, WATTS[1]), ..CardTimes::default() };
    let unknown_j = times.other_j;
    usage_sums.cards = vec![
        CardTotals { slot: Some(0), times, unknown_j, ..gpu.clone() },
        CardTotals { unpartitioned: true, times: free_times, ..gpu },
    ];
    let prices = Prices { kwh: Some(0.3), ..prices(&[("a100", 2.5)]) };
    let request = UsageRequest {
        by: vec![by],
        prices,
        ..UsageRequest::new(usage_sums.window, usage_sums.window.to)
    };
    Usage::from_sums(usage_sums, &request)
}

/// Cells of the rows of accounts by their names.
type Printed = BTreeMap<String, Vec<String>>;

fn by_name(rows: impl Iterator<Item = Vec<String>>) -> Printed {
    rows.map(|mut cells| (cells.remove(0), cells)).collect()
}

fn text_accounts(usage: &Usage) -> Printed {
    let lines = lines(usage, &View { is_wide: true, ..view(300, usage) });
    let rows = lines.iter().skip_while(|line| !line.starts_with("§4")).skip(2);
    let rows = rows.take_while(|line| !line.contains("--json") && !line.contains("unused:"));
    by_name(rows.map(|line| {
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
    }))
}

fn markdown_accounts(usage: &Usage) -> Printed {
    let mut out = Vec::new();
    markdown::write(&mut out, usage, &View { is_wide: true, ..view(300, usage) }).unwrap();
    let shown = String::from_utf8(out).unwrap().replace("\\<", "<").replace("\\~", "~");
    let rows = shown.lines().skip_while(|line| !line.starts_with("## §4")).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|')).skip(2);
    by_name(
        rows.map(|line| line.trim_matches('|').split('|').map(|it| it.trim().to_owned()).collect()),
    )
}

/// Accounts of both tables: those with a row, and those that are folded away.
fn html_accounts(usage: &Usage) -> Printed {
    let page = UsagePage::from(usage.clone());
    let mut out = Vec::new();
    html::write(&mut out, &page, &view(80, usage)).unwrap();
    let shown = String::from_utf8(out).unwrap();
    let tables = shown.split("<table class=\"accounts\">").skip(1);
    let tables = tables.filter_map(|table| table.split("</table>").next());
    let rows = tables
        .flat_map(|table| table.split("<tr>").skip(1))
        .filter(|row| row.contains("scope=\"row\""));
    by_name(rows.map(|row| {
        let cells = row.split("<t").skip(1).filter(|cell| !cell.contains("share-bar"));
        let cells = cells.filter_map(|cell| cell.split_once('>')?.1.split('<').next());
        cells.map(|cell| cell.replace("&lt;", "<")).collect()
    }))
}

/// Returns a printed figure in units of its last decimal.
fn printed_units(cell: &str) -> i64 {
    match cell.contains(['<', '?']) || cell.is_empty() {
        true => 0,
        false => cell.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap(),
    }
}

proptest! {
    /// Printed figures are rounded, and still add up: in each row, in each column, and to the headline. All
    /// formats print the same, and CSV and JSON have the same numbers.
    #[test]
    fn formats_agree_and_sums_are_exact(
        by in prop::sample::select(&[By::User, By::Program, By::Container][..]),
        accounts in prop::collection::vec(random_hours(), 1..16),
        nobody in random_hours(),
        free in 0.0..2000.0_f64,
    ) {
        let usage = usage_of(by, &accounts, nobody, free);
        prop_assume!(!usage.accounts.is_empty());
        let json = serde_json::to_value(&usage).unwrap();
        let listed = json["accounts"].as_array().unwrap();

        // Numbers.
        let table = csv_table(&usage, ReportTable::Accounts);
        let mut reader = ::csv::Reader::from_reader(table.as_bytes());
        let rows: Vec<BTreeMap<String, String>> =
            reader.deserialize().map(Result::unwrap).collect();
        prop_assert_eq!(rows.len(), listed.len(), "there is no sum");
        for (row, account) in rows.iter().zip(listed) {
            for (key, figure) in account.as_object().unwrap() {
                if let Some(figure) = figure.as_f64() {
                    prop_assert_eq!(row[key].parse::<f64>().unwrap(), figure, "{}", key);
                }
            }
        }
        for state in ["active", "idle_held", "unknown"] {
            let key = format!("{state}_gpu_hours");
            let sum: f64 = listed.iter().map(|account| account[&key].as_f64().unwrap()).sum();
            let of_cards = json["states"][state]["gpu_hours"].as_f64().unwrap();
            prop_assert!((sum - of_cards).abs() < 1e-6, "{}: {} and not {}", state, sum, of_cards);
        }

        // What is printed.
        let text = text_accounts(&usage);
        prop_assert_eq!(&text, &markdown_accounts(&usage));
        let html = html_accounts(&usage);
        for (name, cells) in text.iter().filter(|(name, _)| !name.ends_with(" more")) {
            prop_assert_eq!(html[name].get(..cells.len()), Some(&cells[..]), "{}", name);
        }
        let columns = text["all"].len();
        // With those of `--wide` of which something is known. The largest memory is no sum.
        prop_assert!((8..=12).contains(&columns), "{:?}", text);
        for column in (0..columns).filter(|column| !text["all"][*column].contains("iB")) {
            let rows = text.iter().filter(|(name, _)| *name != "all");
            let sum: i64 = rows.map(|(_, cells)| printed_units(&cells[column])).sum();
            prop_assert_eq!(sum, printed_units(&text["all"][column]), "column {} of {:?}", column, text);
        }
        for cells in text.values() {
            let [active, held, unused, low_use, unknown, total] =
                [0, 1, 2, 3, 4, 5].map(|column| printed_units(&cells[column]));
            prop_assert_eq!((held, total), (unused + low_use, active + held + unknown), "{:?}", cells);
        }
        let headline = lines(&usage, &view(300, &usage));
        for (word, column) in [("active", 0), ("idle-held", 1), ("unknown", 4)] {
            let line = headline.iter().find(|line| line.trim_start().starts_with(word) && line.contains("GPU-h"));
            let hours = line.map_or("0", |line| line.split(" GPU-h").next().unwrap().rsplit(' ').next().unwrap());
            prop_assert_eq!(hours, &text["all"][column], "{} in {:?}", word, headline);
        }

        let Some(energy) = energy::table(&usage) else { return Ok(()) };
        let (all, rows) = energy.rows.split_last().unwrap();
        for column in 1..all.len() {
            let sum: i64 = rows.iter().map(|row| printed_units(&row[column])).sum();
            prop_assert_eq!(sum, printed_units(&all[column]), "{} of {:?}", energy.heads[column], rows);
        }
        let total = energy.heads.iter().position(|head| head == "total").unwrap();
        for row in &energy.rows {
            let states: i64 = row[1..total].iter().map(|cell| printed_units(cell)).sum();
            prop_assert_eq!(states, printed_units(&row[total]), "{:?}", row);
        }
        let cards = energy::card_column(&usage).unwrap();
        let sum: i64 = cards.iter().map(|cell| printed_units(cell)).sum();
        prop_assert_eq!(sum, printed_units(&all[total]), "{:?}", cards);
        let said = energy::headline(&usage).unwrap();
        prop_assert!(said.starts_with(&format!("energy: {} kWh", all[total])), "{}", said);
    }
}

/// The columns of a row, read as a spreadsheet reads it.
fn columns(rows: &str) -> Vec<usize> {
    let mut builder = ::csv::ReaderBuilder::new();
    let mut reader = builder.flexible(true).has_headers(false).from_reader(rows.as_bytes());
    reader.records().map(|row| row.unwrap().len()).collect()
}

/// Names that somebody may choose to break what shows them.
fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("\x1b[2J\x1b]0;pwned\x07".to_owned()),
        Just("a\nb\r\nc\td".to_owned()),
        Just("名".repeat(1365)),
        Just("e\u{301}".repeat(2048)),
        Just("| x | `rm -rf` | [a](b) <b>".to_owned()),
        Just("=HYPERLINK(\"x\")".to_owned()),
        Just("@SUM(A1),\"\";--".to_owned()),
        Just("\u{202e}evil\u{2066}".to_owned()),
        "\\PC{0,40}",
        any::<String>(),
    ]
}

proptest! {
    #[test]
    fn no_name_breaks_anything(bob in hostile(), notebook in hostile(), width in 40_usize..300) {
        let usage = week_of(&bob, &notebook, everything);
        let usage = beside(usage, &week_of(&notebook, &bob, everything));
        for line in lines(&usage, &view(width, &usage)) {
            prop_assert!(!line.chars().any(char::is_control), "{:?}", line);
            prop_assert!(crate::render::words::width(&line) <= width, "{:?}", line);
        }
        let mut out = Vec::new();
        markdown::write(&mut out, &usage, &view(width, &usage)).unwrap();
        let shown = String::from_utf8(out).unwrap();
        prop_assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{:?}", shown);
        for row in shown.lines().filter(|line| line.starts_with("| ")) {
            let bars = row.replace("\\\\", "").replace("\\|", "").matches('|').count();
            prop_assert!([4, 5, 6, 7, 8, 9, 10, 11, 26].contains(&bars), "{:?}", row);
        }
        for (which, length) in [(ReportTable::Accounts, 43), (ReportTable::Sessions, 31)] {
            let shown = csv_table(&usage, which);
            prop_assert!(columns(&shown).into_iter().all(|columns| columns == length));
            let mut rows = ::csv::Reader::from_reader(shown.as_bytes());
            let is_formula = |row: ::csv::StringRecord| row.iter().any(|cell| cell.starts_with('='));
            prop_assert!(!rows.records().any(|row| row.is_ok_and(is_formula)));
        }
    }
}
