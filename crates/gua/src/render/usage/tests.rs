//! How accounts, sessions and money read, on answers made by hand.

use gua_query::usage::{By, Usage, UsageRequest};
use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::accounts::{Figure, PrintedAccounts};
use super::examples::{beside, prices, week_of};
use super::{View, csv, lines, markdown};
use crate::render::paint::Paint;

fn view(width: usize, usage: &Usage) -> View {
    View {
        paint: Paint(false),
        width,
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
      idle-held   120 GPU-hours, as if 0.7 of 3 cards were taken away; $300, $1,286 a month at this pace
      truly-idle  234 GPU-hours, as if 1.4 of 3 cards stood free; ≥$215, ≥$921 a month at this pace
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
       ≥10h  bob       1         ?  train.py (bare CUDA context) (on …  5001  8 Nov 20:00 → 9 Nov 06:00

    Verdict
      Idle-held is 23.8 % of the observed card time, over the 20 % line: a matter of allocation, not of
      too few cards. It cost $300, $1,286 a month at this pace.
      Three sessions make up 83.8 % of it:
      bob    job 4711, sweep.ipynb                        card 1  2d14h, still on  → gua who --user 1001
      alice  train.py                                     card 0  1d16h
      bob    train.py (bare CUDA context) (on a busy ca…  card 1  10h
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
      unused: memory held, no work. low use:
      work below 10 % of the card. unlisted:
      memory that no listed process holds.

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
      bob    …  card 1  10h
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

#[test]
fn beside_an_earlier_window() {
    let before = week_of("eve", "x.ipynb", everything);
    let usage = beside(week(everything), &before);
    insta::assert_snapshot!(from(&usage, 80, "Compared"), @"
    Compared with 8 Nov 20:00 → 15 Nov 2026 20:00 UTC, 7d, 100.0 % observed
                                            now  before  difference
      active                             29.8 %  29.8 %  0.0 points
      idle-held                          23.8 %  23.8 %  0.0 points
      truly-idle                         46.4 %  46.4 %  0.0 points
      idle-held GPU-h                       120     120           0
      idle-held cards                       0.7     0.7         0.0
      idle-held cost                       $300    $300       $0.00
      idle-held GPU-h by user
        bob                                70.0       0       +70.0
        eve                                   0    70.0       −70.0
        alice                              40.0    40.0           0
        unlisted                           10.0    10.0           0
      idle-held GPU-h by notebook
        home/bob/exp/sweep.ipynb of bob    70.0       0       +70.0
        x.ipynb of eve                        0    70.0       −70.0
        no notebook                        40.0    40.0           0
        unlisted                           10.0    10.0           0

    Verdict
      Idle-held is 23.8 % of the observed card time, over the 20 % line: a matter of
      allocation, not of too few cards. It cost $300, $1,286 a month at this pace.
      Three sessions make up 83.8 % of it:
      bob    job 4711, sweep.ipynb    card 1  2d14h, still on  → gua who --user 1001
      alice  train.py                 card 0  1d16h
      bob    train.py (bare CUDA co…  card 1  10h
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
    | ≥10h | bob | 1 | ? | train.py (bare CUDA context) (on a busy card) | 5001 | 8 Nov 20:00 → 9 Nov 06:00 |

    ## Compared with 8 Nov 20:00 → 15 Nov 2026 20:00 UTC, 7d, 100.0 % observed

    |  | now | before | difference |
    |---|---:|---:|---:|
    | active | 29.8 % | 29.8 % | 0.0 points |
    | idle-held | 23.8 % | 23.8 % | 0.0 points |
    | truly-idle | 46.4 % | 46.4 % | 0.0 points |
    | idle-held GPU-h | 120 | 120 | 0 |
    | idle-held cards | 0.7 | 0.7 | 0.0 |
    | idle-held cost | $300 | $300 | $0.00 |
    | idle-held GPU-h by user |  |  |  |
    |   bob | 70.0 | 70.0 | 0 |
    |   alice | 40.0 | 40.0 | 0 |
    |   unlisted | 10.0 | 10.0 | 0 |
    | idle-held GPU-h by notebook |  |  |  |
    |   home/bob/exp/sweep.ipynb of bob | 70.0 | 70.0 | 0 |
    |   no notebook | 40.0 | 40.0 | 0 |
    |   unlisted | 10.0 | 10.0 | 0 |

    ## Verdict

    Idle-held is 23.8 % of the observed card time, over the 20 % line: a matter of allocation, not of too few cards. It cost $300, $1,286 a month at this pace.

    Three sessions make up 83.8 % of it:

    - bob, job 4711, sweep.ipynb, card 1, 2d14h, still on, → gua who --user 1001
    - alice, train.py, card 0, 1d16h
    - bob, train.py (bare CUDA context) (on a busy card), card 1, 10h
    ");
}

#[test]
fn as_rows_for_a_spreadsheet() {
    let usage = beside(week(everything), &week(everything));
    let mut out = Vec::new();
    csv::write(&mut out, &usage).unwrap();
    let shown = String::from_utf8(out).unwrap();
    let rows: Vec<_> = shown.lines().filter(|row| !row.starts_with("heatmap")).collect();
    insta::assert_snapshot!(rows.join("\n"), @r#"
    kind,card_index,card_slot,card_uuid,card_name,user,uid,weekday,hour,state,gpu_hours,share,by,name,unattributed,id,held_idle_gib_hours,cost,cost_per_month,unpriced_gpu_hours,currency,pid,program,from,to,open,peak_memory_bytes,job,container,pod,notebook,gpu_hours_difference,from_seen,to_seen,busy_card_seconds,idle_held_gpu_hours,bare_context,script,command,ask,end,sentence,present_process_hours,working_process_hours,idle_process_hours,idle_beside_process_hours,active_energy_kwh,idle_held_energy_kwh,energy_unknown_gpu_hours,mean_utilization_percent,mean_memory_used_bytes,imported,active_percent,held_mb,worked_percent,reason
    basis,,,,,,,,,,,,,,,,,,,,,,,2026-11-08T20:00:00Z,2026-11-15T20:00:00Z,,,,,,,,,,,,,,,,,A card is active during every 5 seconds of enough utilization.,,,,,,,,,,false,10,100,1,
    total,,,,,,,,,active,150,0.297619,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    total,,,,,,,,,idle_held,120,0.238095,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    total,,,,,,,,,truly_idle,234,0.464286,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    total,,,,,,,,,unknown,0,0,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    total,,,,,,,,,all,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,0,0,0,,,,,,,
    card,0,,GPU-0,NVIDIA A100-SXM4-80GB,,,,,active,60,0.357143,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    card,0,,GPU-0,NVIDIA A100-SXM4-80GB,,,,,idle_held,40,0.238095,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    card,0,,GPU-0,NVIDIA A100-SXM4-80GB,,,,,truly_idle,68,0.404762,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    card,0,,GPU-0,NVIDIA A100-SXM4-80GB,,,,,unknown,0,0,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    card,0,,GPU-0,NVIDIA A100-SXM4-80GB,,,,,all,168,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,0,0,0,32.142857,12483047619,,,,,
    card,1,,GPU-1,NVIDIA A100-SXM4-80GB,,,,,active,70,0.416667,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    card,1,,GPU-1,NVIDIA A100-SXM4-80GB,,,,,idle_held,80,0.47619,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    card,1,,GPU-1,NVIDIA A100-SXM4-80GB,,,,,truly_idle,18,0.107143,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    card,1,,GPU-1,NVIDIA A100-SXM4-80GB,,,,,unknown,0,0,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    card,1,,GPU-1,NVIDIA A100-SXM4-80GB,,,,,all,168,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,0,0,0,37.5,18724571429,,,,,
    card,2,,GPU-2,NVIDIA GeForce RTX 4090,,,,,active,20,0.119048,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    card,2,,GPU-2,NVIDIA GeForce RTX 4090,,,,,idle_held,0,0,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    card,2,,GPU-2,NVIDIA GeForce RTX 4090,,,,,truly_idle,148,0.880952,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    card,2,,GPU-2,NVIDIA GeForce RTX 4090,,,,,unknown,0,0,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    card,2,,GPU-2,NVIDIA GeForce RTX 4090,,,,,all,168,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,0,0,0,10.714286,2496609524,,,,,
    account,,,,,,,,,active,70,,user,bob,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,idle_held,70,0.583333,user,bob,,,,175,,0,$,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,unused,62.4,,user,bob,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,low_use,7.6,,user,bob,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,unknown,0,,user,bob,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,all,140,0.518519,user,bob,,,956.25,,,,,,,,,,8388608000,,,,,,,,,,,,,,,,200,77.6,122.4,60,0,0,0,,,,,,,
    account,,,,,,,,,active,60,,user,alice,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,idle_held,40,0.333333,user,alice,,,,100,,0,$,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,unused,40,,user,alice,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,low_use,0,,user,alice,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,unknown,0,,user,alice,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,all,100,0.37037,user,alice,,,2343.75,,,,,,,,,,62914560000,,,,,,,,,,,,,,,,100,60,40,0,0,0,0,,,,,,,
    account,,,,,,,,,active,20,,user,carol,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,idle_held,0,0,user,carol,,,,0,,0,$,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,unused,0,,user,carol,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,low_use,0,,user,carol,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,unknown,0,,user,carol,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,all,20,0.074074,user,carol,,,0,,,,,,,,,,9437184000,,,,,,,,,,,,,,,,20,20,0,0,0,0,0,,,,,,,
    account,,,,,,,,,active,0,,user,,unlisted,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,idle_held,10,0.083333,user,,unlisted,,,25,,0,$,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,unused,10,,user,,unlisted,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,low_use,0,,user,,unlisted,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,unknown,0,,user,,unlisted,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,all,10,0.037037,user,,unlisted,,9.765625,,,,,,,,,,1048576000,,,,,,,,,,,,,,,,10,0,10,0,0,0,0,,,,,,,
    account,,,,,bob,,,,active,70,,notebook,home/bob/exp/sweep.ipynb,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,bob,,,,idle_held,70,0.583333,notebook,home/bob/exp/sweep.ipynb,,,,175,,0,$,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,bob,,,,unused,62.4,,notebook,home/bob/exp/sweep.ipynb,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,bob,,,,low_use,7.6,,notebook,home/bob/exp/sweep.ipynb,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,bob,,,,unknown,0,,notebook,home/bob/exp/sweep.ipynb,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,bob,,,,all,140,0.518519,notebook,home/bob/exp/sweep.ipynb,,,956.25,,,,,,,,,,8388608000,,,,,,,,,,,,,,,,200,77.6,122.4,60,0,0,0,,,,,,,
    account,,,,,,,,,active,80,,notebook,,none,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,idle_held,40,0.333333,notebook,,none,,,100,,0,$,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,unused,40,,notebook,,none,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,low_use,0,,notebook,,none,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,unknown,0,,notebook,,none,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,all,120,0.444444,notebook,,none,,2343.75,,,,,,,,,,62914560000,,,,,,,,,,,,,,,,120,80,40,0,0,0,0,,,,,,,
    account,,,,,,,,,active,0,,notebook,,unlisted,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,idle_held,10,0.083333,notebook,,unlisted,,,25,,0,$,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,unused,10,,notebook,,unlisted,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,low_use,0,,notebook,,unlisted,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,unknown,0,,notebook,,unlisted,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    account,,,,,,,,,all,10,0.037037,notebook,,unlisted,,9.765625,,,,,,,,,,1048576000,,,,,,,,,,,,,,,,10,0,10,0,0,0,0,,,,,,,
    session,1,,GPU-1,,bob,1001,,,idle,62,,,,,,,,,,,5001,python,2026-11-13T06:00:00Z,2026-11-15T20:00:00Z,true,8100000000,4711,,,home/bob/exp/sweep.ipynb,,true,false,0,60,false,,,gua who --user 1001,scancel 4711,,,,,,,,,,,,,,,
    session,0,,GPU-0,,alice,1000,,,idle,40,,,,,,,,,,,5000,python,2026-11-09T16:00:00Z,2026-11-11T08:00:00Z,false,61000000000,,,,,,true,true,0,40,false,train.py,,,,,,,,,,,,,,,,,,
    session,1,,GPU-1,,bob,1001,,,idle,10,,,,,,,,,,,5001,python,2026-11-08T20:00:00Z,2026-11-09T06:00:00Z,false,,,,,,,false,true,30000,0.5,true,train.py,,,,,,,,,,,,,,,,,,
    money,,,,,,,,,idle_held,,,,,,,,300,1285.714286,0,$,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    money,,,,,,,,,truly_idle,,,,,,,,215,921.428571,148,$,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,
    before,,,,,,,,,active,150,0.297619,,,,,,,,,,,,2026-11-08T20:00:00Z,2026-11-15T20:00:00Z,,,,,,,0,,,,,,,,,,,,,,,,,,,,,,,,
    before,,,,,,,,,idle_held,120,0.238095,,,,,,,,,,,,2026-11-08T20:00:00Z,2026-11-15T20:00:00Z,,,,,,,0,,,,,,,,,,,,,,,,,,,,,,,,
    before,,,,,,,,,truly_idle,234,0.464286,,,,,,,,,,,,2026-11-08T20:00:00Z,2026-11-15T20:00:00Z,,,,,,,0,,,,,,,,,,,,,,,,,,,,,,,,
    before,,,,,,,,,unknown,0,0,,,,,,,,,,,,2026-11-08T20:00:00Z,2026-11-15T20:00:00Z,,,,,,,0,,,,,,,,,,,,,,,,,,,,,,,,
    before,,,,,,,,,all,140,,user,bob,,,,,,,,,,2026-11-08T20:00:00Z,2026-11-15T20:00:00Z,,,,,,,0,,,,,,,,,,,,,,,,,,,,,,,,
    before,,,,,,,,,idle_held,70,,user,bob,,,,,,,,,,2026-11-08T20:00:00Z,2026-11-15T20:00:00Z,,,,,,,0,,,,,,,,,,,,,,,,,,,,,,,,
    before,,,,,,,,,all,100,,user,alice,,,,,,,,,,2026-11-08T20:00:00Z,2026-11-15T20:00:00Z,,,,,,,0,,,,,,,,,,,,,,,,,,,,,,,,
    before,,,,,,,,,idle_held,40,,user,alice,,,,,,,,,,2026-11-08T20:00:00Z,2026-11-15T20:00:00Z,,,,,,,0,,,,,,,,,,,,,,,,,,,,,,,,
    before,,,,,,,,,all,20,,user,carol,,,,,,,,,,2026-11-08T20:00:00Z,2026-11-15T20:00:00Z,,,,,,,0,,,,,,,,,,,,,,,,,,,,,,,,
    before,,,,,,,,,idle_held,0,,user,carol,,,,,,,,,,2026-11-08T20:00:00Z,2026-11-15T20:00:00Z,,,,,,,0,,,,,,,,,,,,,,,,,,,,,,,,
    before,,,,,,,,,all,10,,user,,unlisted,,,,,,,,,2026-11-08T20:00:00Z,2026-11-15T20:00:00Z,,,,,,,0,,,,,,,,,,,,,,,,,,,,,,,,
    before,,,,,,,,,idle_held,10,,user,,unlisted,,,,,,,,,2026-11-08T20:00:00Z,2026-11-15T20:00:00Z,,,,,,,0,,,,,,,,,,,,,,,,,,,,,,,,
    before,,,,,bob,,,,all,140,,notebook,home/bob/exp/sweep.ipynb,,,,,,,,,,2026-11-08T20:00:00Z,2026-11-15T20:00:00Z,,,,,,,0,,,,,,,,,,,,,,,,,,,,,,,,
    before,,,,,bob,,,,idle_held,70,,notebook,home/bob/exp/sweep.ipynb,,,,,,,,,,2026-11-08T20:00:00Z,2026-11-15T20:00:00Z,,,,,,,0,,,,,,,,,,,,,,,,,,,,,,,,
    before,,,,,,,,,all,120,,notebook,,none,,,,,,,,,2026-11-08T20:00:00Z,2026-11-15T20:00:00Z,,,,,,,0,,,,,,,,,,,,,,,,,,,,,,,,
    before,,,,,,,,,idle_held,40,,notebook,,none,,,,,,,,,2026-11-08T20:00:00Z,2026-11-15T20:00:00Z,,,,,,,0,,,,,,,,,,,,,,,,,,,,,,,,
    before,,,,,,,,,all,10,,notebook,,unlisted,,,,,,,,,2026-11-08T20:00:00Z,2026-11-15T20:00:00Z,,,,,,,0,,,,,,,,,,,,,,,,,,,,,,,,
    before,,,,,,,,,idle_held,10,,notebook,,unlisted,,,,,,,,,2026-11-08T20:00:00Z,2026-11-15T20:00:00Z,,,,,,,0,,,,,,,,,,,,,,,,,,,,,,,,
    verdict,,,,,,,,,exceeded,,0.238095,,idle_held_share_over_threshold,,,,,,,,,,,,,,,,,,,,,,,,,,,,"Idle-held is 23.8 % of the observed card time, over the 20 % line: a matter of allocation, not of too few cards.",,,,,,,,,,,,,,
    "#);
}

/// Printed figures are rounded, and still add up: in each row, in each column, and to the sums of the
/// states.
#[test]
fn printed_accounts_add_up() {
    let mut usage = week(everything);
    for (place, account) in usage.accounts.iter_mut().enumerate() {
        let more = f64::from(u8::try_from(place).unwrap()) * 0.4 + 0.3;
        account.active_gpu_hours += more;
        account.unused_gpu_hours += more;
        account.low_use_gpu_hours += more;
        account.unknown_gpu_hours += more;
    }
    let accounts = super::accounts::of_kind(&usage, By::User);
    for most in [2, 10] {
        let printed = PrintedAccounts::new(&usage, &accounts, most);
        assert_eq!(printed.rest.is_some(), most == 2);
        let rows: Vec<_> = printed.rows.iter().chain(&printed.rest).collect();
        let number = |cell: &str| match cell.strip_prefix('<') {
            Some(_) => 0,
            None => cell.replace([',', '.'], "").parse::<i64>().unwrap(),
        };
        for figure in [
            Figure::Active,
            Figure::IdleHeld,
            Figure::Unused,
            Figure::LowUse,
            Figure::Unknown,
            Figure::Total,
        ] {
            let sum: i64 = rows.iter().map(|row| number(row.cell(figure))).sum();
            assert_eq!(sum, number(printed.sum.cell(figure)), "{figure:?}");
        }
        for row in rows.into_iter().chain([&printed.sum]) {
            let [active, held, unused, low_use, unknown, total] = [
                Figure::Active,
                Figure::IdleHeld,
                Figure::Unused,
                Figure::LowUse,
                Figure::Unknown,
                Figure::Total,
            ]
            .map(|figure| number(row.cell(figure)));
            assert_eq!((held, total), (unused + low_use, active + held + unknown), "{row:?}");
        }
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
        let mut out = Vec::new();
        csv::write(&mut out, &usage).unwrap();
        let shown = String::from_utf8(out).unwrap();
        prop_assert!(columns(&shown).into_iter().all(|columns| columns == 56));
        let mut rows = ::csv::Reader::from_reader(shown.as_bytes());
        let is_formula = |row: ::csv::StringRecord| row.iter().any(|cell| cell.starts_with('='));
        prop_assert!(!rows.records().any(|row| row.is_ok_and(is_formula)));
    }
}
