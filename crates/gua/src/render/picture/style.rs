//! Colours and type, for light, dark and paper.

/// Inside of the picture, so that it looks the same wherever it is shown. Each measure has a
/// panel to itself: nothing is told by colour alone.
pub(super) const SVG: &str = "
  .gua { --paper: #fff; --ink: #1a1f26; --quiet: #5b6571; --grid: #e4e8ec; --axis: #98a2ad;
         --ram: #1d5fa8; --gpu-memory: #7a3d9e; --cpu: #b0501a; --gpu: #1c7544;
         font-family: system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif;
         font-size: 11.5px; font-variant-numeric: tabular-nums; }
  @media (prefers-color-scheme: dark) { .gua { --paper: #14181d; --ink: #e8ebee; --quiet: #a0aab5;
         --grid: #2a3139; --axis: #5a6571; --ram: #6fb0f2; --gpu-memory: #c793ea; --cpu: #f2a06a;
         --gpu: #62cb90; } }
  @media print { .gua { --paper: #fff; --ink: #000; --quiet: #333; --grid: #ddd; --axis: #777;
         --ram: #17477c; --gpu-memory: #5b2c77; --cpu: #863b11; --gpu: #145933; } }
  .gua .paper { fill: var(--paper); }
  .gua text { fill: var(--quiet); }
  .gua .name { fill: var(--ink); font-size: 18px; font-weight: 600; }
  .gua .ended { font-size: 13px; }
  .gua .title { fill: var(--ink); font-size: 13px; font-weight: 600; }
  .gua .told { font-size: 12px; }
  .gua .grid { stroke: var(--grid); stroke-width: 1; shape-rendering: crispEdges; }
  .gua .axis { stroke: var(--axis); stroke-width: 1; shape-rendering: crispEdges; }
  .gua .ram { --hue: var(--ram); } .gua .gpu-memory { --hue: var(--gpu-memory); }
  .gua .cpu { --hue: var(--cpu); } .gua .gpu { --hue: var(--gpu); }
  .gua .line { fill: none; stroke: var(--hue); stroke-width: 1.5; stroke-linejoin: round; }
  .gua .area { fill: var(--hue); fill-opacity: .16; }
  .gua .band { fill: var(--hue); fill-opacity: .18; }
  .gua .ring { fill: var(--paper); stroke: var(--hue); stroke-width: 1.75; }
  .gua .mark { fill: var(--ink); font-weight: 600; paint-order: stroke; stroke: var(--paper); stroke-width: 3px; stroke-linejoin: round; }
  .gua .note { paint-order: stroke; stroke: var(--paper); stroke-width: 3px; stroke-linejoin: round; }
  .gua .limit { stroke: var(--quiet); stroke-width: 1.25; stroke-dasharray: 7 4; }
  .gua .spike { stroke: var(--hue); stroke-width: 1.5; stroke-dasharray: 1.5 3; }
  .gua .hatch { stroke: var(--axis); stroke-width: 1; }
  .gua .unknown { fill: url(#gua-unknown); }
";

/// Around the picture.
pub(super) const HTML: &str = "
  :root { color-scheme: light dark; --paper: #fff; --ink: #1a1f26; --quiet: #5b6571; --rule: #d9dee3; --well: #f4f6f8; }
  @media (prefers-color-scheme: dark) { :root { --paper: #14181d; --ink: #e8ebee; --quiet: #a0aab5; --rule: #323a43; --well: #1d232a; } }
  body { margin: 0; background: var(--paper); color: var(--ink);
         font: 15px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif; }
  main { max-width: 960px; margin: 0 auto; padding: 28px 24px 40px; }
  h1 { font-size: 22px; line-height: 1.3; margin: 0; overflow-wrap: anywhere; }
  h2 { font-size: 16px; margin: 28px 0 8px; }
  p { margin: 4px 0; }
  .quiet { color: var(--quiet); }
  svg { display: block; width: 100%; height: auto; margin: 16px 0 0; }
  .wide { overflow-x: auto; }
  table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
  th, td { text-align: left; padding: 6px 14px 6px 0; border-bottom: 1px solid var(--rule); white-space: nowrap; }
  thead th { color: var(--quiet); font-weight: 500; font-size: 13px; }
  .figure { text-align: right; } td.figure + td:not(.figure), th.figure + th:not(.figure) { padding-left: 22px; }
  ul { margin: 14px 0 0; padding-left: 20px; }
  pre { background: var(--well); border: 1px solid var(--rule); border-radius: 6px; padding: 10px 14px; overflow-x: auto; font-size: 13.5px; }
  footer { margin-top: 24px; font-size: 13px; }
  @media print { :root { --paper: #fff; --ink: #000; --quiet: #333; --rule: #bbb; --well: #fff; } main { padding: 0; max-width: none; }
         svg, table { break-inside: avoid; } }
";
