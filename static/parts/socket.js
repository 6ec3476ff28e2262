// The socket: say what the page shows; the server sends what it lacks.
import { all, byId, on, openCards, person } from "./page.js";

const keys = (name) => openCards().filter((card) => name in card.dataset).map((card) => Number(card.dataset[name]));

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
  3009: "This page lacks too much: reload it.",
  4401: "You are signed out; reload the page to sign in.",
  4404: "This is no longer yours to read; what you see is old.",
};
let late = 0;
let line = null;
on("htmx:wsOpen", (event) => {
  clearTimeout(late);
  late = 0;
  byId("connection").hidden = true;
  line = event.detail.socketWrapper;
  line.send(JSON.stringify(hello()));
  document.dispatchEvent(new CustomEvent("jpweb:connected"));
});
on("htmx:wsClose", (event) => {
  line = null;
  const over = OVER[event.detail.event.code];
  if (over) byId("connection").textContent = over;
  // Each try that fails closes again: that says it no later.
  if (over) clearTimeout(late);
  if (over || !late) late = setTimeout(() => { byId("connection").hidden = false; }, over ? 0 : 1500);
});

// Say anew what the page shows.
export const again = () => { say(hello()); };

// Say something more, now or never; false where there is no connection.
export function say(what) {
  if (line) line.sendImmediately(JSON.stringify(what));
  return line !== null;
}
