//! How `gua report` reads, for a person and for a program.

use super::{BOTH_DAYS, HOUR, Histories, SATURDAY};
use crate::history::{MINUTE, Recording, card};

fn text(args: &[&str]) -> String {
    let run = Histories::two_days().report(&[&BOTH_DAYS, args].concat());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    run.stdout
}

#[test]
fn on_a_wide_screen() {
    insta::assert_snapshot!(text(&["--width", "100"]), @"
    gua — lab-a100 (driver 560.35.05)
    9 Nov 00:00 → 11 Nov 2024 00:00 UTC, 2d, 95.8 % observed (1 gap, 2h)
    not observed: 2h the recorder was stopped

    §1 Headline
      basis: card time. by hand Thresholds: active ≥ 10 % utilization, held > 100 MiB, working ≥ 1 % of
      the SMs.
      █████████▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒░░░░░░░░░░░░░░░░░░░░░░░░░?
      active      █  14.5 %  20.0 GPU-h
      idle-held   ▒  42.0 %  58.0 GPU-h
      truly-idle  ░  42.0 %  58.0 GPU-h
      unknown     ?   1.4 %   2.0 GPU-h
      energy: unknown

    §2 Idle capacity
      idle-held   58.0 GPU-h, as much as 1.3 of 3 cards held all the time
      truly-idle  58.0 GPU-h, as much as 1.3 of 3 cards free all the time

    §3 Per-GPU
      #  card            active  idle-held  truly-idle  unknown
      0  A100-SXM4-80GB  43.5 %     26.1 %      30.4 %    0.0 %  ███████████▒▒▒▒▒▒░░░░░░░
      1  A100-SXM4-80GB   0.0 %    100.0 %       0.0 %    0.0 %  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒
      2  RTX 4090         0.0 %      0.0 %      95.7 %    4.3 %  ░░░░░░░░░░░░░░░░░░░░░░░?

    §4 Accounts (GPU-hours; shared cards are split; columns add up to §1)
      user             active  idle-held  = unused  + low use  unknown  total  share
      bob                   0       44.9      44.9          0        0   44.9   56 %
      alice              20.0       12.0      12.0          0        0   32.0   40 %
      holders unknown       0          0         0          0      2.0    2.0    3 %
      unattributed          0        1.1       1.1          0        0    1.1    1 %
      all                20.0       58.0      58.0          0      2.0   80.0  100 %
      unused: memory held, no work. low use: work below 10 % of the card. holders unknown: time of cards
      whose processes could not be read or were not listed.

    §5 Time-of-day heatmap (UTC)
           00       03       06       09       12       15       18       21
      Sun  ·········      ·········▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒··················
      Mon
      Tue
      Wed
      Thu
      Fri
      Sat  ························▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒··················
      share of card time active: · none, ░ under 25 %, ▒ under 50 %, ▓ under 75 %, █ more; blank: not
      observed

    Holding sessions
      on at the end, longest first
      idle  who           card    memory  what                          pid  when
      ≥19h  bob              1   7.8 GiB  python                        200  10 Nov 05:00 → 11 Nov 00:00
      ≥19h  unattributed     1   0.2 GiB  not known (bare CUDA contex…  201  10 Nov 05:00 → 11 Nov 00:00
       ≥6h  alice            0  68.4 GiB  python                        100  10 Nov 18:00 → 11 Nov 00:00
      ended, longest first
        idle  who           card    memory  what                         pid  when
      ≥1d03h  bob              1   7.8 GiB  python                       200  9 Nov 00:00 → 10 Nov 03:00
      ≥1d03h  unattributed     1   0.2 GiB  not known (bare CUDA conte…  201  9 Nov 00:00 → 10 Nov 03:00
          6h  alice            0  68.4 GiB  python                       100  9 Nov 18:00 → 10 Nov 00:00

    Verdict
      Idle-held is 42.0 % of the observed card time, over the 20 % line: a matter of allocation, not of
      too few cards.
      Three sessions make up 87.7 % of it:
      bob    python  card 1  ≥1d03h
      bob    python  card 1  ≥19h
      alice  python  card 0  ≥6h
    ");
}

#[test]
fn on_a_narrower_screen() {
    insta::assert_snapshot!(text(&["--width", "60"]), @"
    gua — lab-a100 (driver 560.35.05)
    9 Nov 00:00 → 11 Nov 2024 00:00 UTC, 2d, 95.8 % observed (1
    gap, 2h)
    not observed: 2h the recorder was stopped

    §1 Headline
      basis: card time. by hand Thresholds: active ≥ 10 %
      utilization, held > 100 MiB, working ≥ 1 % of the SMs.
      ████████▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒░░░░░░░░░░░░░░░░░░░░░░░?
      active      █  14.5 %  20.0 GPU-h
      idle-held   ▒  42.0 %  58.0 GPU-h
      truly-idle  ░  42.0 %  58.0 GPU-h
      unknown     ?   1.4 %   2.0 GPU-h
      energy: unknown

    §2 Idle capacity
      idle-held   58.0 GPU-h, as much as 1.3 of 3 cards held all
                  the time
      truly-idle  58.0 GPU-h, as much as 1.3 of 3 cards free all
                  the time

    §3 Per-GPU
      #  card            active  idle-held  truly-idle  unknown
      0  A100-SXM4-80GB  43.5 %     26.1 %      30.4 %    0.0 %
      1  A100-SXM4-80GB   0.0 %    100.0 %       0.0 %    0.0 %
      2  RTX 4090         0.0 %      0.0 %      95.7 %    4.3 %

    §4 Accounts (GPU-hours; shared cards are split; columns add
    up to §1)
      user             active  idle-held  unknown  total
      bob                   0       44.9        0   44.9
      alice              20.0       12.0        0   32.0
      holders unknown       0          0      2.0    2.0
      unattributed          0        1.1        0    1.1
      all                20.0       58.0      2.0   80.0
      holders unknown: time of cards whose processes could not
      be read or were not listed.

    §5 Time-of-day heatmap (UTC)
           00    03    06    09    12    15    18    21
      Sun  ······    ······▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒············
      Mon
      Tue
      Wed
      Thu
      Fri
      Sat  ················▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒············
      share of card time active: · none, ░ under 25 %, ▒ under
      50 %, ▓ under 75 %, █ more; blank: not observed

    Holding sessions
      on at the end, longest first
      idle  who           card    memory  what      pid
      ≥19h  bob              1   7.8 GiB  python    200
      ≥19h  unattributed     1   0.2 GiB  not kno…  201
       ≥6h  alice            0  68.4 GiB  python    100
      ended, longest first
        idle  who           card    memory  what      pid
      ≥1d03h  bob              1   7.8 GiB  python    200
      ≥1d03h  unattributed     1   0.2 GiB  not kno…  201
          6h  alice            0  68.4 GiB  python    100

    Verdict
      Idle-held is 42.0 % of the observed card time, over the
      20 % line: a matter of allocation, not of too few cards.
      Three sessions make up 87.7 % of it:
      bob    python  card 1  ≥1d03h
      bob    python  card 1  ≥19h
      alice  python  card 0  ≥6h
    ");
}

#[test]
fn on_the_narrowest_screen() {
    insta::assert_snapshot!(text(&["--width", "40"]), @"
    gua — lab-a100 (driver 560.35.05)
    9 Nov 00:00 → 11 Nov 2024 00:00 UTC, 2d,
    95.8 % observed (1 gap, 2h)
    not observed: 2h the recorder was
    stopped

    §1 Headline
      basis: card time. by hand Thresholds:
      active ≥ 10 % utilization, held
      > 100 MiB, working ≥ 1 % of the SMs.
      █████▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒░░░░░░░░░░░░░░░?
      active      █  14.5 %  20.0 GPU-h
      idle-held   ▒  42.0 %  58.0 GPU-h
      truly-idle  ░  42.0 %  58.0 GPU-h
      unknown     ?   1.4 %   2.0 GPU-h
      energy: unknown

    §2 Idle capacity
      idle-held   58.0 GPU-h, as much as 1.3
                  of 3 cards held all the
                  time
      truly-idle  58.0 GPU-h, as much as 1.3
                  of 3 cards free all the
                  time

    §3 Per-GPU
      #       █        ▒       ░      ?
      0  43.5 %   26.1 %  30.4 %  0.0 %
      1   0.0 %  100.0 %   0.0 %  0.0 %
      2   0.0 %    0.0 %  95.7 %  4.3 %

    §4 Accounts (GPU-hours; shared cards are
    split; columns add up to §1)
      user          active  idle-held  total
      bob                0       44.9   44.9
      alice           20.0       12.0   32.0
      holders unk…       0          0    2.0
      unattributed       0        1.1    1.1
      all             20.0       58.0   80.0
      holders unknown: time of cards whose
      processes could not be read or were
      not listed.

    §5 Time-of-day heatmap (UTC)
           00 03 06 09 12 15 18 21
      Sun  ···  ···▒▒▒▒▒▒▒▒▒▒······
      Mon
      Tue
      Wed
      Thu
      Fri
      Sat  ········▒▒▒▒▒▒▒▒▒▒······
      share of card time active: · none, ░
      under 25 %, ▒ under 50 %, ▓ under
      75 %, █ more; blank: not observed

    Holding sessions
      on at the end, longest first
      idle  who           card  what
      ≥19h  bob              1  python
      ≥19h  unattributed     1  not kno…
       ≥6h  alice            0  python
      ended, longest first
        idle  who           card  what
      ≥1d03h  bob              1  python
      ≥1d03h  unattributed     1  not kno…
          6h  alice            0  python

    Verdict
      Idle-held is 42.0 % of the observed
      card time, over the 20 % line: a
      matter of allocation, not of too few
      cards.
      Three sessions make up 87.7 % of it:
      bob    python  card 1  ≥1d03h
      bob    python  card 1  ≥19h
      alice  python  card 0  ≥6h
    ");
}

#[test]
fn as_json() {
    let mut report = Histories::two_days().json(&BOTH_DAYS);
    // The whole week would fill pages.
    let heatmap = report["heatmap"].as_array_mut().unwrap();
    assert_eq!(heatmap.len(), 46);
    heatmap.truncate(1);
    insta::assert_snapshot!(serde_json::to_string_pretty(&report).unwrap());
}

#[test]
fn as_tables_for_a_spreadsheet() {
    let first_rows = ["accounts", "cards", "sessions", "hours", "gaps"].map(|table| {
        let rows = text(&["--format", "csv", "--table", table]);
        let mut reader = csv::Reader::from_reader(rows.as_bytes());
        assert!(reader.records().all(|row| row.is_ok()), "rows of {table} have other lengths");
        rows.lines().take(3).collect::<Vec<_>>().join("\n")
    });
    insta::assert_snapshot!(first_rows.join("\n\n"), @"
    by,name,user,uid,id,unattributed,active_gpu_hours,idle_held_gpu_hours,unused_gpu_hours,low_use_gpu_hours,unknown_gpu_hours,total_gpu_hours,share_of_total,idle_held_share,active_cost,idle_held_cost,currency,unpriced_active_gpu_hours,unpriced_idle_held_gpu_hours,energy_kwh,active_energy_kwh,idle_held_energy_kwh,energy_unknown_gpu_hours,energy_cost,held_idle_gib_hours,memory_unknown_process_hours,peak_memory_bytes,present_process_hours,working_process_hours,idle_process_hours,idle_beside_process_hours,window_from,window_to,window_coverage,host
    user,bob,bob,1001,,,0,44.87806,44.87806,0,0,44.87806,0.560976,0.77376,,,,0,44.87806,,0,,44.87806,,359.375,0,8388608000,46,0,46,0,2024-11-09T00:00:00Z,2024-11-11T00:00:00Z,0.958333,lab-a100
    user,alice,alice,1000,,,20,12,12,0,0,32,0.4,0.206897,,,,20,12,,,,32,,820.3125,0,73400320000,32,20,12,0,2024-11-09T00:00:00Z,2024-11-11T00:00:00Z,0.958333,lab-a100

    index,slot,uuid,name,parent_uuid,slices,slices_of,unpartitioned,active_gpu_hours,idle_held_gpu_hours,truly_idle_gpu_hours,unknown_gpu_hours,observed_gpu_hours,active_share,idle_held_share,truly_idle_share,unknown_share,mean_utilization_percent,mean_memory_used_bytes,energy_kwh,active_energy_kwh,idle_held_energy_kwh,truly_idle_energy_kwh,unknown_state_energy_kwh,energy_unknown_gpu_hours,energy_estimated_gpu_hours,energy_divided,window_from,window_to,window_coverage,host
    0,,GPU-00000000,NVIDIA A100-SXM4-80GB,,1,1,false,20,12,14,0,46,0.434783,0.26087,0.304348,0,35.304348,51061092174,,,,,0,46,0,false,2024-11-09T00:00:00Z,2024-11-11T00:00:00Z,0.958333,lab-a100
    1,,GPU-00000001,NVIDIA A100-SXM4-80GB,,1,1,false,0,46,0,0,46,0,1,0,0,5,8598323200,,0,,0,0,46,0,false,2024-11-09T00:00:00Z,2024-11-11T00:00:00Z,0.958333,lab-a100

    user,uid,card_index,card_slot,card_uuid,pid,program,from,from_seen,to,to_seen,open,idle_seconds,busy_card_seconds,idle_held_gpu_hours,peak_memory_bytes,bare_context,job,container_name,container_id,pod_name,pod_uid,notebook_path,script,command,ask,end,window_from,window_to,window_coverage,host
    bob,1001,1,,GPU-00000001,200,python,2024-11-10T05:00:00Z,false,2024-11-11T00:00:00Z,false,,68400,0,18.53659,8388608000,false,,,,,,,,,,,2024-11-09T00:00:00Z,2024-11-11T00:00:00Z,0.958333,lab-a100
    ,,1,,GPU-00000001,201,,2024-11-10T05:00:00Z,false,2024-11-11T00:00:00Z,false,,68400,0,0.46341,209715200,true,,,,,,,,,,,2024-11-09T00:00:00Z,2024-11-11T00:00:00Z,0.958333,lab-a100

    weekday,hour,active_share,observed_seconds,tz,window_from,window_to,window_coverage,host
    0,0,0,10800,UTC,2024-11-09T00:00:00Z,2024-11-11T00:00:00Z,0.958333,lab-a100
    0,1,0,10800,UTC,2024-11-09T00:00:00Z,2024-11-11T00:00:00Z,0.958333,lab-a100

    from,to,seconds,reason,window_from,window_to,window_coverage,host
    2024-11-10T03:00:00Z,2024-11-10T05:00:00Z,7200,stopped,2024-11-09T00:00:00Z,2024-11-11T00:00:00Z,0.958333,lab-a100
    ");
    assert_eq!(
        text(&["--format", "csv"]),
        text(&["--format", "csv", "--table", "accounts", "--by", "user"])
    );
}

#[test]
fn as_markdown() {
    insta::assert_snapshot!(text(&["--format", "markdown"]), @r"
    # gua — lab-a100 (driver 560.35.05)

    9 Nov 00:00 → 11 Nov 2024 00:00 UTC, 2d, 95.8 % observed (1 gap, 2h)

    not observed: 2h the recorder was stopped

    ## §1 Headline

    basis: card time. by hand Thresholds: active ≥ 10 % utilization, held \> 100 MiB, working ≥ 1 % of the SMs.

    | state |  | share | GPU-h |
    |---|---|---:|---:|
    | active | █ | 14.5 % | 20.0 |
    | idle-held | ▒ | 42.0 % | 58.0 |
    | truly-idle | ░ | 42.0 % | 58.0 |
    | unknown | ? | 1.4 % | 2.0 |

    energy: unknown

    ## §2 Idle capacity

    - idle-held: 58.0 GPU-h, as much as 1.3 of 3 cards held all the time
    - truly-idle: 58.0 GPU-h, as much as 1.3 of 3 cards free all the time

    ## §3 Per-GPU

    | \# | card | active | idle-held | truly-idle | unknown |
    |---:|---|---:|---:|---:|---:|
    | 0 | A100-SXM4-80GB | 43.5 % | 26.1 % | 30.4 % | 0.0 % |
    | 1 | A100-SXM4-80GB | 0.0 % | 100.0 % | 0.0 % | 0.0 % |
    | 2 | RTX 4090 | 0.0 % | 0.0 % | 95.7 % | 4.3 % |

    ## §4 Accounts (GPU-hours; shared cards are split; columns add up to §1)

    | user | active | idle-held | = unused | + low use | unknown | total | share |
    |---|---:|---:|---:|---:|---:|---:|---:|
    | bob | 0 | 44.9 | 44.9 | 0 | 0 | 44.9 | 56 % |
    | alice | 20.0 | 12.0 | 12.0 | 0 | 0 | 32.0 | 40 % |
    | holders unknown | 0 | 0 | 0 | 0 | 2.0 | 2.0 | 3 % |
    | unattributed | 0 | 1.1 | 1.1 | 0 | 0 | 1.1 | 1 % |
    | all | 20.0 | 58.0 | 58.0 | 0 | 2.0 | 80.0 | 100 % |

    unused: memory held, no work. low use: work below 10 % of the card. holders unknown: time of cards whose processes could not be read or were not listed.

    ## §5 Time-of-day heatmap (UTC)

    active, in % of the observed card time

    |  | 00 | 01 | 02 | 03 | 04 | 05 | 06 | 07 | 08 | 09 | 10 | 11 | 12 | 13 | 14 | 15 | 16 | 17 | 18 | 19 | 20 | 21 | 22 | 23 |
    |---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
    | Sun | 0 | 0 | 0 |  |  | 0 | 0 | 0 | 33 | 33 | 33 | 33 | 33 | 33 | 33 | 33 | 33 | 33 | 0 | 0 | 0 | 0 | 0 | 0 |
    | Mon |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |
    | Tue |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |
    | Wed |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |
    | Thu |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |
    | Fri |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  |
    | Sat | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 33 | 33 | 33 | 33 | 33 | 33 | 33 | 33 | 33 | 33 | 0 | 0 | 0 | 0 | 0 | 0 |

    ## Holding sessions

    on at the end, longest first

    | idle | who | card | memory | what | pid | when |
    |---:|---|---:|---:|---|---:|---|
    | ≥19h | bob | 1 | 7.8 GiB | python | 200 | 10 Nov 05:00 → 11 Nov 00:00 |
    | ≥19h | unattributed | 1 | 0.2 GiB | not known (bare CUDA context) | 201 | 10 Nov 05:00 → 11 Nov 00:00 |
    | ≥6h | alice | 0 | 68.4 GiB | python | 100 | 10 Nov 18:00 → 11 Nov 00:00 |

    ended, longest first

    | idle | who | card | memory | what | pid | when |
    |---:|---|---:|---:|---|---:|---|
    | ≥1d03h | bob | 1 | 7.8 GiB | python | 200 | 9 Nov 00:00 → 10 Nov 03:00 |
    | ≥1d03h | unattributed | 1 | 0.2 GiB | not known (bare CUDA context) | 201 | 9 Nov 00:00 → 10 Nov 03:00 |
    | 6h | alice | 0 | 68.4 GiB | python | 100 | 9 Nov 18:00 → 10 Nov 00:00 |

    ## Verdict

    Idle-held is 42.0 % of the observed card time, over the 20 % line: a matter of allocation, not of too few cards.

    Three sessions make up 87.7 % of it:

    - bob, python, card 1, ≥1d03h
    - bob, python, card 1, ≥19h
    - alice, python, card 0, ≥6h
    ");
}

#[test]
fn a_window_without_data() {
    let histories = Histories::two_days();
    let run = histories.report(&["--from", "2099-12-01", "--until", "2099-12-02"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let shown = run.stdout.split("--db").next().unwrap().to_owned();
    insta::assert_snapshot!(shown, @"
    gua — lab-a100 (driver 560.35.05)
    1 Dec 00:00 → 2 Dec 2099 00:00 UTC, nothing observed

    Nothing was recorded in this window. There is data from 9 Nov 2024 00:00 to 11
    Nov 2024 00:00 UTC.
      → gua report
    ");
    let since = run.stdout.split("--since ").nth(1).unwrap().trim_end().to_owned();
    let again = histories.json(&["--since", &since]);
    assert!(again["window"]["observed_seconds"].as_f64().unwrap() >= 86_400.0 - 2.0 * 3_600.0);
}

#[test]
fn a_history_without_data() {
    let histories = Histories::new();
    gua_store::Database::create(&histories.path()).unwrap();
    let shown = histories.report(&["--from", "2099-12-01", "--until", "2099-12-02"]).stdout;
    insta::assert_snapshot!(shown, @"
    gua   1 Dec 00:00 → 2 Dec 2099 00:00 UTC, nothing observed

    Nothing is recorded yet.
      → `gua daemon` starts recording; `gua demo` shows a report without a GPU.
    ");
    assert_eq!(histories.json(&[])["data"], serde_json::Value::Null);
}

/// Colours repeat what is said; without them nothing is lost.
#[test]
fn colours_change_no_word() {
    let painted = text(&["--color", "always"]);
    assert!(painted.contains("\x1b[1;33m▒"));
    let mut plain = String::new();
    for (place, part) in painted.split("\x1b[").enumerate() {
        plain.push_str(if place == 0 { part } else { part.split_once('m').unwrap().1 });
    }
    assert_eq!(plain, text(&[]));
}

#[test]
fn no_line_is_wider_than_it_may_be() {
    for width in ["40", "41", "47", "52", "63", "79", "80", "120", "300"] {
        for line in text(&["--width", width]).lines() {
            let columns = unicode_width::UnicodeWidthStr::width(line);
            assert!(columns <= width.parse().unwrap(), "{width}: {line}");
            assert_eq!(line, line.trim_end(), "{width}");
        }
    }
}

#[test]
fn ten_people_are_shown_and_the_others_counted() {
    let histories = Histories::new();
    let mut recording = Recording::begin(&histories.path(), SATURDAY, MINUTE);
    recording.until(SATURDAY + HOUR, 1, |_| {
        let held = (0..12).fold(card("A", 1.0), |card, n| {
            card.held_by(&format!("v{n:02}"), 1000 + n, 200 + u64::from(n))
        });
        vec![held.held_by_nameless(4242, 300), card("B", 1.0).held_by_nameless(4242, 300)]
    });
    recording.end("stopped");
    let window = ["--from", "2024-11-09", "--until", "2024-11-09 01:00"];
    let shown = histories.report(&window).stdout;
    assert!(shown.contains("  --json has all accounts\n"), "{shown}");
    assert!(shown.contains("  uid 4242 "), "{shown}");
    assert!(shown.contains("  3 more "), "{shown}");
    assert_eq!(histories.json(&window)["accounts"].as_array().unwrap().len(), 13);
}

/// Names are chosen by others.
#[test]
fn names_break_neither_a_line_nor_a_table_nor_a_spreadsheet() {
    let histories = Histories::new();
    let mut recording = Recording::begin(&histories.path(), SATURDAY, MINUTE);
    recording.until(SATURDAY + HOUR, 1, |_| {
        vec![card("=A|B", 1.0).held_by("=cmd|'x'!\x1b[2J,\"", 1, 200)]
    });
    recording.end("stopped");
    let window = ["--from", "2024-11-09", "--until", "2024-11-09 01:00"];
    let shown = |format| histories.report(&[&window[..], &["--format", format]].concat()).stdout;
    assert!(shown("text").contains("  =cmd|'x'!?[2J,\" "));
    let csv = |table| {
        let options = ["--format", "csv", "--table", table];
        histories.report(&[&window[..], &options].concat()).stdout
    };
    assert!(csv("cards").contains(",'=A|B,"));
    for table in ["accounts", "sessions"] {
        assert!(csv(table).contains("\"'=cmd|'x'!?[2J,\"\"\",1,"), "{}", csv(table));
    }
    assert!(shown("markdown").contains(r#"| =cmd\|'x'!?\[2J," |"#));
}
