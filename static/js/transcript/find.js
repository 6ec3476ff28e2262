// Find in a conversation: also in what is not loaded. Counted in events; the keys and buttons go
// round.
import { WHERE, restate, says } from "./url-state.js";
import { bring, dark, light, ranges, terms } from "./highlight.js";
import { byId, on } from "../dom.js";
import { firstInView } from "./scroll-position.js";
import { ask, current, go, mark } from "./navigation.js";

const form = byId("find");
const field = form && form.elements.q;
const status = form && form.querySelector("[role=status]");
const TRIES = 3; // parts of a cut payload that are fetched for one hit

// What is looked for, and the hit that somebody is at.
let looked = "";
let hit = null;
export const finding = () => Boolean(looked);

export function open() {
  if (!form) return false;
  form.classList.add("on");
  field.focus({ preventScroll: true });
  field.select();
  return true;
}
export function close() {
  if (!form || !form.classList.contains("on")) return false;
  form.classList.remove("on");
  looked = "";
  hit = null;
  field.value = "";
  status.textContent = "";
  form.querySelector(".find-steps").hidden = true;
  dark();
  byId("transcript").dataset.query = kept("");
  restate({ q: "" });
  const here = current() || firstInView();
  if (form.contains(document.activeElement)) (here ? mark(here) : field.blur());
  return true;
}
function kept(words) {
  const query = new URLSearchParams(byId("transcript").dataset.query);
  query.delete("q");
  if (words) query.set("q", words);
  return query.toString().replaceAll("%2C", ",");
}

const number = (count) => count.toLocaleString("en");
function count({ total, more, behind }) {
  const late = behind ? ` (${number(behind)} events not indexed yet)` : "";
  if (!hit) return `No matches${late}`;
  const nth = hit.number ? `${number(hit.number)} of ` : "";
  return `${nth}${number(total)}${more ? "+" : ""} match${total === 1 ? "" : "es"}${late}`;
}

export async function find(to) {
  const words = field.value.trim();
  if (!words) return;
  form.classList.add("on");
  const from = hit && looked === words ? { from: hit.position } : { at: (current() || firstInView() || {}).id || "" };
  looked = words;
  status.textContent = "Searching…";
  const reply = await ask("find", { q: words, to, ...from });
  if (looked !== words) return;
  if (!reply) {
    status.textContent = "Couldn't search. Try again.";
    return;
  }
  hit = reply.anchor ? reply : null;
  form.querySelector(".find-steps").hidden = false;
  byId("transcript").dataset.query = kept(words);
  if (hit) await go(hit, { q: words }, arrive);
  else {
    dark();
    restate({ q: words });
  }
  status.textContent = count(reply);
}

function arrive(item) {
  restate({ ...WHERE, at: hit.anchor, q: looked }, `#${hit.anchor}`);
  const typing = document.activeElement === field;
  if (item.matches("details")) item.open = true;
  mark(item);
  if (typing) field.focus({ preventScroll: true });
  show(TRIES);
}
// Light it; where it lies beyond what is shown of a payload, fetch more of that first.
function show(tries) {
  const item = hit && (byId(hit.anchor) || byId(hit.item));
  if (!item) return;
  const looks = terms(looked);
  light(looks, item);
  const [first] = ranges(item, looks, 1);
  if (first) {
    let fold = first.startContainer.parentElement;
    for (; fold && fold !== item.parentElement; fold = fold.parentElement) if (fold.matches("details")) fold.open = true;
    bring(first);
    return;
  }
  const rest = tries && item.querySelector(".payload .rest a[hx-get]");
  if (!rest) return;
  waiting = tries - 1;
  htmx.trigger(rest, "click");
}
let waiting = null;
on("htmx:load", (event) => {
  if (!finding() || !event.target.closest("#transcript")) return;
  if (waiting === null) return relight();
  const tries = waiting;
  waiting = null;
  show(tries);
});
let soon;
function relight() {
  clearTimeout(soon);
  soon = setTimeout(() => {
    if (finding()) light(terms(looked), hit && byId(hit.anchor));
  }, 50);
}
on("jpweb:windows", () => { if (finding()) relight(); });

if (form) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    find("next");
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.preventDefault();
      if (!close()) field.blur();
    } else if (event.key === "Enter" && event.shiftKey && event.target === field) {
      event.preventDefault();
      find("previous");
    }
  });
  form.addEventListener("click", (event) => {
    const button = event.target.closest("[data-find]");
    if (!button) return;
    if (button.dataset.find === "close") close();
    else find(button.dataset.find);
  });
  // Somebody who comes from a search finds its words lit, and goes on from there.
  if (says("q")) {
    form.classList.add("on");
    looked = says("q");
    field.value = looked;
    light(terms(looked), byId(location.hash.slice(1)));
    const words = looked;
    ask("find", { q: words, at: location.hash.slice(1) }).then((reply) => {
      // Somebody may look for something else already.
      if (hit || !reply || looked !== words || words !== field.value.trim()) return;
      hit = reply.anchor ? reply : null;
      status.textContent = count(reply);
      form.querySelector(".find-steps").hidden = false;
      if (hit && location.hash.slice(1) === hit.anchor) show(TRIES);
    });
  }
}
