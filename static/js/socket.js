// The socket: say what the page shows; the server sends what it lacks.
import { all, byId, on, openCards, person } from "./dom.js";

// Cards that a page names, the first ones: the server takes no more (MAX_CARDS). It shows a fifth of
// that; further ones are kept up to date once some of these are settled.
const MAX_CARDS = 500;
const keys = (name) => openCards().slice(0, MAX_CARDS)
  .filter((card) => name in card.dataset).map((card) => Number(card.dataset[name]));

// Between which items a page shows all of the chosen kinds; with the beginning the first is what may
// come before all, with the end there is no last one.
function stretch() {
  const windows = all("#transcript > .window");
  if (!windows.length) return {};
  const query = new URLSearchParams(byId("transcript").dataset.query);
  const last = byId("tail") ? null : Number(windows.at(-1).dataset.last);
  const begins = !windows[0].previousElementSibling || !windows[0].previousElementSibling.matches(".way");
  const first = begins ? 0 : Number(windows[0].dataset.first);
  return { first, last, show: query.get("show") || "", words: query.get("q") || "" };
}

function hello() {
  const page = byId("page");
  const says = { person, shown: keys("question"), prompts: keys("prompt") };
  if (page && page.dataset.desk) says.desk = true;
  if (page && page.dataset.conversation) {
    says.conversation = Number(page.dataset.conversation);
    says.length = Number(byId("counts").dataset.length);
    says.revision = Number(byId("counts").dataset.revision);
    says.run = byId("foot").dataset.run;
    says.facts = byId("facts").dataset.facts;
    Object.assign(says, stretch());
  }
  return says;
}

// It comes back by itself, soon and not with everybody else at once, unless it was sent away.
htmx.config.wsReconnectDelay = (tries) => Math.random() * Math.min(1000 * 2 ** tries, 5000);
const OVER = {
  3009: "This page is out of date. Reload.",
  4400: "The server could not read this page's message. Reload.",
  4401: "You are signed out. Reload to sign in.",
  4404: "You no longer have access. This page is out of date.",
};

// Asked too often: it waits, each time for longer, and begins anew after a quiet minute.
const TOO_MUCH = 4429;
const QUIET = 60000; // milliseconds
let waits = 0;
let opened = 0;
function pause(socket) {
  if (Date.now() - opened > QUIET) waits = 0;
  const seconds = Math.round(Math.min(10 * 2 ** waits, 120) * (1 + Math.random() / 2));
  waits += 1;
  setTimeout(socket.reconnect, seconds * 1000);
  return `Too many requests from your open pages. Reconnecting in ${seconds} s; this page may be out of date.`;
}

// Too many pages: the one that was silent for longest rests until somebody comes back to it.
const TOO_MANY = 4430;
const COMES = ["visibilitychange", "pointerdown", "keydown"];
function rest(socket) {
  const come = () => {
    if (document.hidden) return;
    for (const name of COMES) document.removeEventListener(name, come, true);
    socket.reconnect();
  };
  for (const name of COMES) on(name, come, true);
  return "You have more than 100 pages open. This one is paused and may be out of date. It resumes when you return to it.";
}

const tried = byId("connection").textContent;
const full = () => openCards().length > MAX_CARDS
  && `This page has more than ${MAX_CARDS} open questions. Only the first ${MAX_CARDS} update by themselves; reload to refresh the others.`;
let late = 0;
let line = null;
on("htmx:wsOpen", (event) => {
  clearTimeout(late);
  late = 0;
  opened = Date.now();
  byId("connection").textContent = full() || tried;
  byId("connection").hidden = !full();
  line = event.detail.socketWrapper;
  again(true);
  document.dispatchEvent(new CustomEvent("jpweb:connected"));
});
on("htmx:wsClose", ({ detail: { event: { code }, socketWrapper } }) => {
  line = null;
  const waiting = { [TOO_MUCH]: pause, [TOO_MANY]: rest }[code];
  const over = waiting ? waiting(socketWrapper) : OVER[code];
  byId("connection").textContent = over || tried;
  // Each try that fails closes again: that says it no later.
  if (over) clearTimeout(late);
  if (over || !late) late = setTimeout(() => { byId("connection").hidden = false; }, over ? 0 : 1500);
});

// Say anew what the page shows: at once, but twice a second at most.
const PACE = 500; // milliseconds
let soon = 0;
let said = 0;
export function again(first) {
  clearTimeout(soon);
  const early = said + PACE - Date.now();
  if (early > 0 && !first) soon = setTimeout(again, early);
  else {
    said = Date.now();
    say(hello());
  }
}

// Say something more, now or never; false where there is no connection.
export function say(what) {
  if (line) line.sendImmediately(JSON.stringify(what));
  return line !== null;
}
