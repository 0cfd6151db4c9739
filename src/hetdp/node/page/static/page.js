// Makes the page smoother; everything works without it. Talks to nobody but this page's own server.
"use strict";

(() => {
  const LOOK_EVERY_MS = 3000;
  const SETTLE_MS = 350;
  const FADE_MS = 15000;
  const MOST_FAILURES = 5;
  const byId = (id) => document.getElementById(id);

  let newest = 0; // number of the newest request: answers to older ones are dropped
  let pressed = false; // a pointer is down: nothing may move under it
  let waiting = null; // a timer that will send the form `pending` soon
  let pending = null;
  let line = Promise.resolve(); // requests go one after the other: the answer to the newest one knows of all of them
  const sent = new WeakSet(); // forms that were sent as they are
  let fading = null; // a timer that will take the message away
  let underway = 0; // requests without an answer yet
  let lost = false; // the node did not answer the last time
  let failures = 0; // how often in a row it did not

  // --- dials -------------------------------------------------------------------------------------------------------

  const effects = () => JSON.parse(byId("effects").textContent);

  function describe(slider) {
    slider.style.setProperty("--fill", `${slider.value}%`);
    const [name, effect] = effects()[slider.value];
    const place = slider.id.slice("dial-".length);
    slider.setAttribute("aria-valuetext", `${slider.value}: ${name}`);
    byId(`name-${place}`).textContent = name;
    byId(`effect-${place}`).textContent = effect;
  }

  function dress() {
    for (const slider of document.querySelectorAll("input[type=range]")) {
      slider.style.setProperty("--fill", `${slider.value}%`);
    }
  }

  // --- what the owner has entered and the node does not know yet -----------------------------------------------------

  function unsent(field) {
    if (sent.has(field.form) || field.type === "hidden") return false;
    if (field.type === "checkbox") return field.checked !== field.defaultChecked;
    if (field.type === "file") return field.files.length > 0;
    if (field.type === "select-one") {
      return field.selectedIndex !== Math.max(0, [...field.options].findIndex((option) => option.defaultSelected));
    }
    return field.value !== field.defaultValue;
  }

  const allUnsent = () => [...byId("page").querySelectorAll("input[id], select[id], textarea[id]")].filter(unsent);

  function keep(field) {
    const fresh = byId(field.id);
    if (!fresh || fresh.disabled || fresh.type !== field.type) return;
    if (field.type === "checkbox") fresh.checked = field.checked;
    else if (field.type === "file") fresh.files = field.files;
    else if (field.type !== "select-one" || [...fresh.options].some((option) => option.value === field.value)) {
      fresh.value = field.value;
    }
  }

  // Sent by themselves: searches, dials, choices. Some were made before this script came, or while a page was loading.
  function sendUnsent() {
    for (const field of allUnsent()) {
      if (field.type === "range") describe(field);
      if (field.form && field.form.matches("[data-live], [data-auto]")) soon(field.form);
    }
  }

  // --- loading without leaving ---------------------------------------------------------------------------------------

  function remember() {
    const focused = document.activeElement;
    const field = focused && focused.matches("input[type=search], input[type=number], input[type=range]") ? focused : null;
    return {
      id: focused ? focused.id : "",
      section: focused && focused.closest("[tabindex='-1'][id]") ? focused.closest("[tabindex='-1'][id]").id : "",
      value: field ? field.value : null,
      caret: field && field.type === "search" ? [field.selectionStart, field.selectionEnd] : null,
      open: [...document.querySelectorAll("details[id][open]")].map((details) => details.id),
    };
  }

  function restore(before) {
    for (const id of before.open) {
      if (byId(id)) byId(id).open = true;
    }
    const again = before.id && byId(before.id);
    if (again && !again.disabled) {
      again.focus({ preventScroll: true });
      if (before.value !== null && again.type === "search") {
        again.value = before.value;
        again.setSelectionRange(...before.caret);
      }
    } else if (before.id && before.section && byId(before.section)) {
      byId(before.section).focus({ preventScroll: true });
    } else if (before.id) {
      byId("page").focus({ preventScroll: true });
    }
  }

  function say(...message) {
    byId("status").replaceChildren(...message);
    fadeLater();
  }

  // Undo stays within reach elsewhere; a message must not cover the page for good, nor vanish under a hand.
  function fadeLater() {
    clearTimeout(fading);
    fading = setTimeout(() => {
      const bar = document.querySelector("#status .message:not(.bad)");
      if (bar && bar.matches(":hover, :focus-within")) fadeLater();
      else if (bar) bar.remove();
    }, FADE_MS);
  }

  function show(html, { announce }) {
    const next = new DOMParser().parseFromString(html, "text/html");
    if (!next.getElementById("page")) {
      location.reload(); // refused: the node was started again
      return;
    }
    const before = remember(), entered = allUnsent();
    for (const id of ["epoch", "page"]) {
      byId(id).replaceChildren(...next.getElementById(id).childNodes);
    }
    const message = next.getElementById("status").childNodes;
    if (announce || message.length) say(...message);
    document.body.dataset.state = next.body.dataset.state;
    document.body.dataset.watch = next.body.dataset.watch;
    entered.forEach(keep);
    dress();
    restore(before);
    sendUnsent();
  }

  async function load(address, options, { announce }) {
    const number = ++newest;
    underway += 1;
    try {
      const asked = line.then(() => fetch(address, { ...options, credentials: "same-origin", cache: "no-store" }));
      line = asked.catch(() => {});
      const answer = await asked;
      const html = await answer.text();
      while (pressed) await new Promise((go) => setTimeout(go, 50));
      if (number === newest) show(html, { announce });
      lost = false;
      failures = 0;
      return true;
    } catch {
      offline();
      return false;
    } finally {
      underway -= 1;
    }
  }

  // Whatever listens on this port after the node has stopped would be sent the cookie: do not go on asking for ever.
  function offline() {
    failures += 1;
    if (lost && failures !== MOST_FAILURES) return;
    lost = true;
    const bar = document.createElement("div");
    bar.className = "message bad";
    bar.append("The node does not answer. Is it still running?");
    if (failures >= MOST_FAILURES) {
      const again = document.createElement("button");
      again.className = "link";
      again.id = "ask-again";
      again.textContent = "Ask again";
      again.addEventListener("click", () => {
        failures = 0;
        load(location.pathname, {}, { announce: true });
      });
      bar.append(" ", again);
    }
    say(bar);
  }

  async function post(form, submitter) {
    const fields = new FormData(form, submitter);
    const body = form.enctype === "multipart/form-data" ? fields : new URLSearchParams(fields);
    const keepalive = form.matches("[data-live], [data-auto]"); // also when the owner goes to another page meanwhile
    sent.add(form);
    const options = { method: "POST", body, keepalive };
    const arrived = await load(form.getAttribute("action"), options, { announce: !form.matches("[data-live]") });
    if (!arrived) sent.delete(form);
  }

  function sendPending() {
    clearTimeout(waiting);
    waiting = null;
    if (pending) post(pending);
    pending = null;
  }

  function send(form, submitter) {
    if (pending === form) pending = null;
    sendPending();
    post(form, submitter);
  }

  function soon(form) {
    if (pending !== form) sendPending();
    clearTimeout(waiting);
    newest += 1; // what is under way is out of date already
    pending = form;
    waiting = setTimeout(sendPending, SETTLE_MS);
  }

  // --- what the owner does ---------------------------------------------------------------------------------------------

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post" || event.defaultPrevented) return;
    event.preventDefault();
    send(form, event.submitter);
  });

  document.addEventListener("input", (event) => {
    const field = event.target;
    sent.delete(field.form);
    if (field.type === "range") {
      describe(field);
      newest += 1;
    } else if (field.form && field.form.matches("[data-live]")) {
      soon(field.form);
    }
  });

  document.addEventListener("change", (event) => {
    const field = event.target;
    if (field.form && field.form.matches("[data-auto]")) soon(field.form);
  });

  document.addEventListener("keydown", (event) => {
    const undo = byId("undo");
    const typing = event.target.matches("input:not([type=range]), textarea");
    if (undo && !typing && (event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === "z") {
      event.preventDefault();
      undo.form.requestSubmit(undo);
    }
  });

  document.addEventListener("pointerdown", () => { pressed = true; });
  for (const name of ["pointerup", "pointercancel"]) {
    document.addEventListener(name, () => { pressed = false; });
  }
  window.addEventListener("blur", () => { pressed = false; });
  window.addEventListener("pagehide", () => {
    line = Promise.resolve(); // the last moment to ask for anything
    sendPending();
  });

  // --- time goes on ----------------------------------------------------------------------------------------------------

  function duration(seconds) {
    const days = Math.floor(seconds / 86400), hours = Math.floor((seconds % 86400) / 3600);
    const minutes = Math.floor((seconds % 3600) / 60);
    const parts = [[days, days === 1 ? "day" : "days"], [hours, "h"], [minutes, "min"], [seconds % 60, "s"]];
    const first = parts.findIndex(([count]) => count > 0);
    if (first < 0) return "0 s";
    return parts.slice(first, first + 2).filter(([count]) => count > 0).map((part) => part.join(" ")).join(" ");
  }

  setInterval(() => {
    const left = byId("left");
    if (!left) return;
    left.dataset.left = Math.max(0, Number(left.dataset.left) - 1);
    left.textContent = duration(Number(left.dataset.left));
  }, 1000);

  const busy = () => {
    const focused = document.activeElement;
    return pressed || waiting !== null || underway > 0 || (focused !== null && focused.matches("select, textarea, input[type=number]"));
  };

  // The parts of the node's state that this page shows.
  const watched = (state) => JSON.stringify(document.body.dataset.watch.split(" ").map((name) => state[name]));

  setInterval(async () => {
    if (document.hidden || busy() || failures >= MOST_FAILURES || document.body.dataset.watch === "gone") return;
    let stale = false;
    underway += 1; // ask again only when this question has its answer
    try {
      const answer = await fetch("/state", { credentials: "same-origin", cache: "no-store" });
      if (answer.status === 403) location.reload(); // the node was started again
      if (!answer.ok) throw new Error("not our node");
      const state = await answer.json();
      failures = 0;
      stale = lost || watched(state) !== watched(JSON.parse(document.body.dataset.state));
    } catch {
      offline();
    } finally {
      underway -= 1;
    }
    if (stale && !busy()) await load(location.pathname, {}, { announce: lost });
  }, LOOK_EVERY_MS);

  dress();
  fadeLater();
  sendUnsent();
})();
