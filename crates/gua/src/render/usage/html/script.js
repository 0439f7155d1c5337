// Live updates, pointing at bands and zooming. All of the content is there without it.
"use strict";
(() => {
  const AGAIN = 2000;
  const AT_LEAST_EVERY = 60000;
  const NO_ANSWER = 60000;
  // Who has not moved for so long does not mind when the page does.
  const AT_REST = 30000;
  const DRAGGED = 8;
  const find = (what) => document.querySelector(what);
  document.documentElement.classList.add("scripted-page");

  // Times are those of the reader, unless the address says otherwise or nobody knows the zone here.
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const { tz, address } = document.body.dataset;
  const inZone = () => {
    const there = new URL(address || "/", location.href);
    there.searchParams.set("tz", zone);
    return "/" + there.search;
  };
  const showLocalTime = async () => {
    const answer = await fetch(inZone(), { method: "HEAD" });
    if (answer.ok) location.replace(inZone() + location.hash);
  };
  const isUnasked = !new URLSearchParams(location.search).has("tz");
  if (zone && tz && tz !== zone && isUnasked) showLocalTime().catch(() => {});

  // What the markup leaves to us: bands that can be stepped through, and the way to local time.
  const prepare = (page) => {
    for (const band of page.querySelectorAll(".band:not([tabindex])")) {
      for (const title of band.querySelectorAll("rect > title")) {
        title.parentNode.dataset.told = title.textContent;
        title.remove();
      }
      band.setAttribute("tabindex", "0");
      band.setAttribute("role", "group");
    }
    const local = page.querySelector("#local-time");
    if (local && zone && zone !== "UTC") local.setAttribute("href", inZone());
    else if (local) local.remove();
  };

  // What a band shows at a place, told below it.
  let dragged = null;
  let movedAt = 0;
  const tell = (rect) => {
    find(".pointed-at")?.classList.remove("pointed-at");
    rect?.classList.add("pointed-at");
    const place = find("#pointed");
    if (place) place.textContent = rect ? rect.dataset.told : "";
  };
  const stretches = (band) => {
    const begin = (rect) => parseFloat(rect.getAttribute("x"));
    return [...band.querySelectorAll("rect")].sort((a, b) => begin(a) - begin(b));
  };
  const step = (event) => {
    const band = event.target;
    const isTheBrowsers = event.altKey || event.ctrlKey || event.metaKey;
    if (isTheBrowsers || !band.matches?.(".band")) return;
    const all = stretches(band);
    const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -all.length, End: all.length };
    const at = all.findIndex((rect) => rect.classList.contains("pointed-at"));
    if (event.key in steps) {
      tell(all[Math.min(Math.max(at + steps[event.key], 0), all.length - 1)]);
    } else if (event.key === "Enter" && at >= 0) {
      const box = all[at].getBoundingClientRect();
      zoom(band, box.left, box.right);
    } else if (event.key === "Escape") {
      tell(null);
    } else return;
    event.preventDefault();
  };

  // The address carries the window, so that a link shows the same.
  const zoom = (band, left, right) => {
    const { from, to } = band.closest("[data-from]").dataset;
    const box = band.getBoundingClientRect();
    const second = (x) => {
      const part = Math.min(Math.max((x - box.left) / box.width, 0), 1);
      return (Number(from) + part * (to - from)) / 1000;
    };
    const moment = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 19) + "Z";
    const begin = Math.floor(second(left));
    const there = new URLSearchParams(location.search);
    there.delete("since");
    there.set("from", moment(begin));
    there.set("until", moment(Math.max(Math.ceil(second(right)), begin + 1)));
    location.search = there;
  };
  const between = (event) => [
    Math.min(dragged.from, event.clientX),
    Math.max(dragged.from, event.clientX),
  ];
  const drag = (event) => {
    const list = dragged.band.closest("ol").getBoundingClientRect();
    const [left, right] = between(event);
    dragged.veil.style.left = `${left - list.left}px`;
    dragged.veil.style.width = `${right - left}px`;
  };
  const letGo = () => {
    dragged?.veil.remove();
    dragged = null;
  };
  document.addEventListener("pointerover", (event) => {
    if (dragged) return;
    if (event.target.dataset?.told) tell(event.target);
    else if (event.pointerType === "mouse" && !find(".band:focus")) tell(null);
  });
  document.addEventListener("pointerdown", (event) => {
    const band = event.target.closest?.(".band");
    tell(event.target.dataset?.told ? event.target : null);
    if (!band || event.pointerType === "touch" || event.button !== 0) return;
    event.preventDefault();
    band.focus();
    letGo();
    const veil = band.closest("ol").appendChild(document.createElement("div"));
    veil.className = "zoom";
    dragged = { band, from: event.clientX, veil };
  });
  document.addEventListener("pointermove", (event) => dragged && drag(event));
  document.addEventListener("pointerup", (event) => {
    if (!dragged) return;
    const { band } = dragged;
    const [left, right] = between(event);
    letGo();
    if (right - left > DRAGGED) zoom(band, left, right);
  });
  document.addEventListener("pointercancel", letGo);
  document.addEventListener("keydown", step);
  for (const move of ["pointermove", "pointerdown", "keydown", "wheel"]) {
    document.addEventListener(move, () => (movedAt = Date.now()), { passive: true });
  }

  // Changes what differs and nothing else: who reads, selects or is at the rest keeps their place.
  const settle = (shown, next) => {
    if (shown.isEqualNode(next)) return;
    if (shown.nodeName !== next.nodeName || shown.id !== next.id) {
      shown.replaceWith(next);
    } else if (shown.nodeType === Node.TEXT_NODE) {
      shown.data = next.data;
    } else {
      settleAttributes(shown, next);
      const [old, fresh] = [[...shown.childNodes], [...next.childNodes]];
      if (old.length === fresh.length) old.forEach((one, place) => settle(one, fresh[place]));
      else shown.replaceChildren(...fresh);
    }
  };
  const settleAttributes = (shown, next) => {
    for (const { name } of [...shown.attributes]) {
      if (!next.hasAttribute(name)) shown.removeAttribute(name);
    }
    for (const { name, value } of next.attributes) {
      if (shown.getAttribute(name) !== value) shown.setAttribute(name, value);
    }
  };

  // A tick changes what is about now; a newer report everything, or what is on one page would be
  // of two times.
  const get = async (path) => {
    const asked = { cache: "no-store", signal: AbortSignal.timeout(NO_ANSWER) };
    const answer = await fetch(path + location.search, asked);
    if (answer.status === 401) signIn();
    if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  };
  const isSelecting = () => {
    const selected = getSelection();
    return !selected.isCollapsed && find("#content").contains(selected.anchorNode);
  };
  const isBusy = () => {
    const isLooking = find(".pointed-at") || isSelecting();
    return dragged || (isLooking && Date.now() - movedAt < AT_REST);
  };
  const showReport = async () => {
    const page = await get("/");
    if (!page.querySelector("#content") || isBusy()) return;
    for (const { id, open } of document.querySelectorAll("details[id]")) {
      const same = page.getElementById(id);
      if (same) same.open = open;
    }
    prepare(page);
    document.title = page.title;
    for (const part of [".top", "#content"]) settle(find(part), page.querySelector(part));
  };
  const showNow = async () => {
    const live = (await get("/live")).querySelector("#live");
    if (!live) return;
    const now = live.querySelector("#now");
    const isNewer = live.dataset.made && live.dataset.made !== find("#live").dataset.made;
    const isOther = !now !== !find("#now");
    if ((isNewer || isOther) && !isBusy()) await showReport();
    else if (now && find("#now")) settle(find("#now"), now);
  };
  const say = (words) => (find("#connection").textContent = words);
  const update = async () => {
    try {
      await showNow();
      say("");
    } catch (error) {
      const isTold = error.message.startsWith("the server");
      say(`${isTold ? error.message : "connection lost"}, trying again`);
    }
  };
  let updating = null;
  const refresh = () => {
    updating ??= update().finally(() => (updating = null));
  };

  // Only who looks listens: a browser has few connections to a server, for all of its tabs.
  let events = null;
  let isSignedOut = false;
  const listen = () => {
    if (events || document.hidden || isSignedOut) return;
    const opened = (events = new EventSource("/events"));
    opened.addEventListener("open", refresh);
    opened.addEventListener("tick", refresh);
    opened.addEventListener("error", () => {
      say("connection lost, trying again");
      if (opened.readyState !== EventSource.CLOSED || events !== opened) return;
      events = null;
      refresh();
      setTimeout(listen, AGAIN);
    });
  };
  const rest = () => {
    events?.close();
    events = null;
  };
  const wake = () => {
    listen();
    refresh();
  };
  // The door leads from the page to where one signs in.
  const signIn = () => {
    isSignedOut = true;
    rest();
    location.reload();
  };
  prepare(document);
  if (find("#live[data-follows]")) {
    listen();
    document.addEventListener("visibilitychange", () => (document.hidden ? rest() : wake()));
    addEventListener("pageshow", (event) => event.persisted && wake());
    setInterval(() => document.hidden || isSignedOut || refresh(), AT_LEAST_EVERY);
  }
})();
