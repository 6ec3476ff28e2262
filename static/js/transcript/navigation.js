// The item that a reader is at, and the way to the next one of a sort, loaded or not.
import { WHERE, changed, restate } from "./url-state.js";
import { more, visit } from "./infinite-scroll.js";
import { all, byId } from "../dom.js";
import { edge, firstInView, give, items, top } from "./scroll-position.js";

const SORTS = {
  item: () => items(),
  prompt: () => all("#transcript > .window > [data-kind=chat_request]"),
  inquiry: () => all("#transcript > .window details.inquiry"),
  problem: () => all("#transcript > .window :is(.result.failed, .fold.unknown, .inquiry[data-outcome=cancelled]:not([data-reason=user]))"),
};
const WORDS = { item: "event", prompt: "prompt", inquiry: "question", problem: "problem" };

// Something is to be seen for a while, instead of what was before it.
const TOLD = 1800; // milliseconds
export function show(note) {
  for (const old of all("body > .told")) old.remove();
  document.body.append(note);
  setTimeout(() => note.remove(), TOLD);
}
// The announcer tells those who listen; what is to be seen is not for them as well.
function say(text) {
  byId("announcer").textContent = text;
  const note = document.createElement("p");
  note.className = "told";
  note.setAttribute("aria-hidden", "true");
  note.textContent = text;
  show(note);
}
const FAILED = "Couldn't load. Try again.";

// By its id, since it may be drawn anew.
let at = "";
const seen = (each) => (each.checkVisibility() ? each : each.closest(".window > *"));
export function current() {
  const there = at && byId(at);
  if (!there || !there.closest("#transcript")) return null;
  const { top: upper, bottom } = seen(there).getBoundingClientRect();
  return bottom > 0 && upper < innerHeight ? there : null;
}

export function mark(item) {
  for (const old of all("#transcript [aria-current]")) old.removeAttribute("aria-current");
  for (let fold = item.parentElement; fold; fold = fold.parentElement) {
    if (fold.matches("details")) fold.open = true;
  }
  at = item.id;
  item.setAttribute("aria-current", "true");
  item.scrollIntoView({ block: "start", behavior: "instant" });
  give(item);
}
// Of an outcome its question.
export const shownAs = (anchor) => {
  const there = byId(anchor);
  return there && (there.closest("details.inquiry") || there);
};

// Go to an event: by its anchor, or that of its item where it does not stand on the page alone.
export async function go({ anchor, item }, says = {}, arrive = mark) {
  const there = () => shownAs(anchor) || shownAs(item);
  if (!there() && !(await visit(`at=${anchor}`, changed({ ...WHERE, at: anchor, ...says }, `#${anchor}`)))) {
    say(FAILED);
    return null;
  }
  const found = there();
  if (found) arrive(found);
  return found;
}

const follows = (one, other) => Boolean(one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING);
function neighbour(list, by) {
  const here = current();
  if (here) return by > 0 ? list.find((each) => follows(here, each)) : list.findLast((each) => follows(each, here));
  const line = edge() - 1;
  return by > 0 ? list.find((each) => top(seen(each)) >= line) : list.findLast((each) => top(seen(each)) < line);
}

// The address leads to it too; browsers bear no change of it for each step.
const SOON = 200; // milliseconds
let soon;
function reach(item) {
  mark(item);
  clearTimeout(soon);
  soon = setTimeout(() => { if (at === item.id) restate({ ...WHERE, at }, `#${at}`); }, SOON);
}

let going = false;
export async function step(what, by) {
  if (going) return;
  going = true;
  try { await towards(what, by); } finally { going = false; }
}
async function towards(what, by) {
  const found = neighbour(SORTS[what](), by);
  // What is not loaded may hold a nearer one; not what lies behind all that is.
  const ahead = (way) => (by > 0 ? way.previousElementSibling : way.nextElementSibling);
  const way = neighbour(all("#transcript > .way").filter(ahead), by);
  if (found && !(way && (by > 0 ? follows(way, found) : follows(found, way)))) return reach(found);
  const none = `No ${by > 0 ? "later" : "earlier"} ${WORDS[what]}.`;
  if (!way) return say(none);
  if (what === "item") return (await more(way)) ? towards(what, by) : say(FAILED);
  const beside = by > 0 ? way.previousElementSibling : way.nextElementSibling;
  const next = await ask("step", { what, to: by > 0 ? "next" : "previous", from: beside.dataset[by > 0 ? "last" : "first"] });
  if (!next) return say(FAILED);
  if (!next.anchor) return say(none);
  await go(next, {}, reach);
}

export async function ask(path, query) {
  const address = `${byId("transcript").dataset.href}/${path}?${new URLSearchParams(query)}`;
  const reply = await fetch(address, { headers: { Accept: "application/json" } }).catch(() => null);
  return reply && reply.ok ? reply.json() : null;
}

// Both ends.
export async function end(by) {
  const open = document.querySelector(`#transcript > .way[data-way=${by > 0 ? "later" : "earlier"}]`);
  const where = by > 0 ? "end" : "0";
  if (open && !(await visit(`at=${where}`, changed({ ...WHERE, at: where }, "")))) return say(FAILED);
  const item = items().at(by > 0 ? -1 : 0);
  if (item) mark(item);
  if (by < 0) window.scrollTo({ top: 0, behavior: "instant" });
}

export function toggle() {
  const focused = document.activeElement.closest("#transcript details");
  const here = current() || firstInView();
  const fold = focused || (here && here.matches("details") ? here : null);
  if (!fold) return false;
  fold.open = !fold.open;
  return true;
}
