// Live updates, pointing at bands and zooming. All of the content is there without it.
"use strict";
(() => {
  const AGAIN = 2000;
  const AT_LEAST_EVERY = 60000;
  const DRAGGED = 8;
  const find = (what) => document.querySelector(what);
  document.documentElement.classList.add("scripted-page");

  // Times are those of the reader, unless the address says otherwise.
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const asked = new URLSearchParams(location.search);
  const inZone = () => {
    const address = new URLSearchParams(location.search);
    address.set("tz", zone);
    return "?" + address;
  };
  if (zone && !asked.has("tz") && document.body.dataset.tz && document.body.dataset.tz !== zone) {
    location.replace(inZone() + location.hash);
    return;
  }
  const local = find("#local-time");
  if (local && zone && zone !== "UTC") local.href = inZone();
  else if (local) local.remove();

  // What a band shows at a place, told below it.
  let dragged = null;
  const tell = (rect) => {
    find(".pointed-at")?.classList.remove("pointed-at");
    rect?.classList.add("pointed-at");
    const place = find("#pointed");
    if (place) place.textContent = rect ? rect.told : "";
  };
  const prepare = () => {
    for (const band of document.querySelectorAll(".band:not([tabindex])")) {
      const rects = [...band.querySelectorAll("rect")];
      rects.sort((a, b) => parseFloat(a.getAttribute("x")) - parseFloat(b.getAttribute("x")));
      for (const rect of rects) {
        const title = rect.querySelector("title");
        rect.told = title.textContent;
        title.remove();
      }
      band.stretches = rects;
      band.setAttribute("tabindex", "0");
      band.setAttribute("role", "group");
    }
  };
  const step = (event) => {
    const { stretches } = event.target;
    if (!stretches) return;
    const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -stretches.length, End: stretches.length };
    const at = stretches.findIndex((rect) => rect.classList.contains("pointed-at"));
    if (event.key in steps) {
      const next = Math.min(Math.max(at + steps[event.key], 0), stretches.length - 1);
      tell(stretches[next]);
    } else if (event.key === "Enter" && at >= 0) {
      const box = stretches[at].getBoundingClientRect();
      zoom(event.target, box.left, box.right);
    } else if (event.key === "Escape") {
      tell(null);
    } else return;
    event.preventDefault();
  };

  // The address carries the window, so that a link shows the same.
  const zoom = (band, left, right) => {
    const { from, to } = band.closest("[data-from]").dataset;
    const box = band.getBoundingClientRect();
    const moment = (x) => {
      const part = Math.min(Math.max((x - box.left) / box.width, 0), 1);
      return new Date(Number(from) + part * (to - from)).toISOString().slice(0, 19) + "Z";
    };
    const address = new URLSearchParams(location.search);
    address.delete("since");
    address.set("from", moment(left));
    address.set("until", moment(right));
    location.search = address;
  };
  const drag = (event) => {
    const { band, from, veil } = dragged;
    const list = band.closest("ol").getBoundingClientRect();
    const [left, right] = [Math.min(from, event.clientX), Math.max(from, event.clientX)];
    veil.style.left = `${left - list.left}px`;
    veil.style.width = `${right - left}px`;
  };
  document.addEventListener("pointerover", (event) => {
    if (dragged) return;
    if (event.target.told) tell(event.target);
    else if (event.pointerType === "mouse" && !find(".band:focus")) tell(null);
  });
  document.addEventListener("pointerdown", (event) => {
    const band = event.target.closest?.(".band");
    if (!band) return;
    tell(event.target.told ? event.target : null);
    if (event.pointerType === "touch" || event.button !== 0) return;
    event.preventDefault();
    band.focus();
    const veil = band.closest("ol").appendChild(document.createElement("div"));
    veil.className = "zoom";
    dragged = { band, from: event.clientX, veil };
  });
  document.addEventListener("pointermove", (event) => dragged && drag(event));
  document.addEventListener("pointerup", (event) => {
    if (!dragged) return;
    const { band, from, veil } = dragged;
    dragged = null;
    veil.remove();
    const [left, right] = [Math.min(from, event.clientX), Math.max(from, event.clientX)];
    if (right - left > DRAGGED) zoom(band, left, right);
  });
  document.addEventListener("keydown", step);

  // A tick replaces what is about now; a newer report replaces everything below the top.
  const markup = (text) => new DOMParser().parseFromString(text, "text/html");
  const get = async (path) => {
    const answer = await fetch(path + location.search, { cache: "no-store" });
    if (!answer.ok) throw new Error(answer.status);
    return markup(await answer.text());
  };
  const isBusy = () =>
    dragged || find(".pointed-at") || find("#content").contains(document.activeElement);
  const replaceAll = async () => {
    const content = (await get("/")).querySelector("#content");
    if (!content || isBusy()) return;
    const open = [...document.querySelectorAll("details")].map((one) => one.open);
    find("#content").replaceWith(content);
    document.querySelectorAll("details").forEach((one, place) => (one.open = open[place]));
    prepare();
  };
  let refreshing = null;
  const refresh = () => {
    refreshing ??= update().finally(() => (refreshing = null));
  };
  const update = async () => {
    try {
      const live = (await get("/live")).querySelector("#live");
      const shown = find("#live");
      if (!live || !shown) return;
      const isNewer = live.dataset.made !== shown.dataset.made;
      if (isNewer && !isBusy()) await replaceAll();
      else {
        if (isNewer) live.dataset.made = shown.dataset.made;
        shown.replaceWith(live);
      }
    } catch {
      lost();
    }
  };
  const lost = () => {
    const place = find("#connection");
    if (place) place.textContent = "connection lost, trying again";
  };
  const listen = () => {
    const events = new EventSource("/events");
    events.addEventListener("open", refresh);
    events.addEventListener("tick", refresh);
    events.addEventListener("error", () => {
      lost();
      if (events.readyState === EventSource.CLOSED) setTimeout(listen, AGAIN);
    });
  };
  prepare();
  if (find("#live")) {
    listen();
    setInterval(refresh, AT_LEAST_EVERY);
  }
})();
