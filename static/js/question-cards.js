// Cards: sending, not sent, settled; keys; where the focus goes.
import { WRITING, all, byId, land, on, openCards } from "./dom.js";
import { forget, restoreAll } from "./drafts.js";
import { named } from "./transcript/url-state.js";
import { again } from "./socket.js";

// Who was typing when somebody else answered gets their texts back, to copy.
const LABELS = { answer: "Your draft (not sent)", note: "Your reason (not sent)" };
const texts = (card) =>
  all("textarea, input[type=text]", card)
    .filter((field) => !field.readOnly && field.value !== field.defaultValue)
    .map((field) => [LABELS[field.name] || LABELS.answer, field.value]);

function giveBack(settled, typed) {
  const there = all("textarea", settled).map((field) => field.value);
  for (const [words, text] of typed) {
    if (there.includes(text)) continue;
    const label = document.createElement("label");
    label.className = "field";
    label.textContent = words;
    const field = document.createElement("textarea");
    field.readOnly = true;
    field.rows = 2;
    field.value = text;
    label.append(field);
    settled.append(label);
  }
}

// What the page was told of a card that was being sent is asked for again where that failed.
const missed = new Set();
function askAgain(card) {
  if (missed.delete(card.id)) again();
}

on("htmx:oobBeforeSwap", (event) => {
  // A card that is being sent waits for its reply, which alone knows what was typed; one that
  // is settled stays as it is, since it may hold that text or the focus.
  const card = event.target.closest(".card");
  const shown = card && (card.dataset.outcome === "open" || "waits" in card.dataset);
  const sending = card && (card.matches(".htmx-request") || card.querySelector(".htmx-request"));
  if (sending) missed.add(card.id);
  if (card && (!shown || sending)) {
    event.preventDefault();
    return;
  }
  const settled = card && event.detail.fragment.querySelector(".card");
  if (settled) {
    giveBack(settled, texts(card));
    forget(card);
  }
});

// The reply to what was sent from a card.
const LATE = 409;
const unsent = new Map();
on("htmx:beforeSwap", (event) => {
  const card = event.target;
  if (!card.matches(".card") || event.detail.xhr.status === 422) return;
  if (event.detail.xhr.status === LATE) unsent.set(card.id, texts(card));
  if (event.detail.shouldSwap) forget(card);
});

// After one's own answer the focus goes to the next question, which may come a moment later, else
// to what became of this one.
const MOMENT = 2000; // milliseconds
let left = null; // the card that was left, and until when another one is gone on to
const GLANCE = 500; // milliseconds in which nobody has read what they were taken to
let unread = 0;
function goOn(card) {
  // To a decision as a whole: a key pressed once too often must not run anything.
  const open = openCards()[0];
  const asks = open && "question" in open.dataset;
  const fields = "input:checked, input:not([type=hidden]), textarea, button";
  const next = asks ? open.querySelector("input:checked") || open.querySelector(fields) : open || card;
  if (!asks) next.tabIndex = -1;
  next.focus({ preventScroll: true });
  unread = next === card ? 0 : Date.now() + GLANCE;
  left = next === card ? { card, until: Date.now() + MOMENT } : null;
}
export function follow() {
  if (!left || !openCards().length) return;
  if (document.activeElement === left.card && Date.now() < left.until) goOn(left.card);
  left = null;
}
on("htmx:afterSwap", (event) => {
  const card = byId(event.target.id);
  if (!card || !card.classList.contains("card")) return;
  giveBack(card, unsent.get(card.id) || []);
  unsent.delete(card.id);
  if (card.dataset.outcome === "open") askAgain(card);
  else missed.delete(card.id);
  if (document.activeElement && document.activeElement !== document.body) return;
  number();
  goOn(card);
});

// What could not be sent stays in the card, which says so and can be sent again.
const REFUSED = {
  403: "access denied; reload the page and sign in again if asked",
  404: "it no longer exists, or you don't have access",
  413: "it's too long",
};
function why(event) {
  if (event.type === "htmx:timeout") return "the server didn't reply";
  if (event.type === "htmx:sendError") {
    return navigator.onLine ? "the server can't be reached" : "this device is offline";
  }
  const status = event.detail.xhr.status;
  return REFUSED[status] || `the server returned an error (${status})`;
}

// A refusal, or a device without a network, keeps nothing. Whether a server that broke off, or did
// not reply, has kept what was sent, only that server knows: a question is settled once all the same.
function whether(event) {
  const refused = event.type === "htmx:responseError" && event.detail.xhr.status < 500;
  return refused || (event.type === "htmx:sendError" && !navigator.onLine) ? "Not sent" : "Not confirmed";
}

function problem(card) {
  const there = card.querySelector("[data-problem]");
  if (there) return there;
  const made = document.createElement("p");
  made.className = "problem";
  made.setAttribute("role", "alert");
  made.dataset.problem = "";
  card.querySelector("form").before(made);
  return made;
}

let held = null;
on("htmx:beforeRequest", (event) => {
  const card = event.target.closest(".card");
  if (!card) return;
  if (card.contains(document.activeElement)) held = document.activeElement;
  const told = card.querySelector("[data-problem]");
  if (told) told.hidden = true;
});
for (const name of ["htmx:sendError", "htmx:timeout", "htmx:responseError"]) {
  on(name, (event) => {
    const card = event.target.closest(".card");
    if (!card) return;
    const told = problem(card);
    askAgain(card);
    told.textContent = `${whether(event)}: ${why(event)}. Your input is still here. Try again.`;
    told.hidden = false;
    // The button that was pressed could not keep the focus while it was disabled.
    setTimeout(() => {
      const free = !document.activeElement || document.activeElement === document.body;
      if (free && held && card.contains(held)) held.focus();
    });
  });
}

// Where each card stands in the queue; it changes while the cards themselves stay as they are.
export function number() {
  const open = openCards();
  const more = byId("more");
  const all = open.length + Number(more ? more.dataset.more : 0);
  open.forEach((card, at) => {
    const place = card.querySelector("[data-position]");
    if (place) place.textContent = all > 1 ? `${at + 1} of ${all.toLocaleString("en")}` : "";
  });
}

const announced = new Set(openCards().map((card) => card.id));
export function announce() {
  for (const card of openCards()) {
    if (announced.has(card.id)) continue;
    announced.add(card.id);
    const what = "prompt" in card.dataset ? "Approval needed" : "New question";
    byId("announcer").textContent = `${what}: ${card.querySelector(".ask").textContent.trim()}`;
  }
}

// Keys in a card: digits choose, Ctrl-Enter sends. Escape does nothing, on purpose. An Enter that
// is held, or pressed once too often, sends nothing more: the focus is in the next card by then.
on("keydown", (event) => {
  const target = event.target;
  if (!target.closest) return;
  const form = target.closest("form");
  const sends = event.key === "Enter" && (event.ctrlKey || event.metaKey || !target.matches("textarea"));
  if (sends && target.closest(".card") && (event.repeat || Date.now() < unread)) {
    event.preventDefault();
    return;
  }
  unread = 0;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    if (!form) return;
    event.preventDefault();
    form.requestSubmit();
    return;
  }
  const card = target.closest(".card");
  const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
  if (card && plain && /^[1-9]$/.test(event.key) && !target.matches(WRITING)) {
    const choice = all("input[type=radio]", card)[Number(event.key) - 1];
    if (!choice) return;
    choice.checked = true;
    choice.focus();
    choice.dispatchEvent(new Event("input", { bubbles: true }));
  }
});

// Fragments from the socket have no token of their own.
const token = document.querySelector("meta[name=csrf-token]");
on("htmx:load", (event) => {
  for (const field of all("input[name=csrfmiddlewaretoken]", event.target)) {
    if (!field.value && token) field.value = token.content;
  }
  restoreAll(event.target);
});

for (const name of ["input", "pointerdown"]) on(name, () => { unread = 0; });

// A permalink into something folded unfolds it; what the address says is shut itself stays so.
export function reveal() {
  const target = location.hash.length > 1 && byId(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  land(target);
  if (named("shut").includes(target.id)) target.open = false;
}
window.addEventListener("hashchange", reveal);
