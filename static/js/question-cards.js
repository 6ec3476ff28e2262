// Cards of questions and approvals: sending, errors, outcomes and the focus.
import { DECISION_FORMS, STATUS_OUTAGE, announce, byId, findAll, findOpenCards, on, revealElement } from "./dom.js";
import { focusUnread } from "./card-focus.js";
import { isSnooze } from "./claims.js";
import { deleteDrafts, restoreDrafts } from "./drafts.js";
import { isFieldRemoved } from "./keyboard.js";
import { NO_POSITION, buildUrl, readAnchors, readParameter } from "./transcript/url-state.js";
import { sendPageState } from "./socket.js";
import { findNextCard } from "./undo-send.js";

// Another person may settle a question while this one types: the settled card keeps the draft.
const DRAFT_LABELS = { answer: "Your draft (not sent)", note: "Your reason (not sent)" };
const CHOICE_LABEL = "Your choice (not sent)";
function readDrafts(card) {
  const drafts = findAll("textarea, input[type=text]", card)
    .filter((field) => !field.readOnly && field.value !== field.defaultValue)
    .map((field) => [DRAFT_LABELS[field.name] || DRAFT_LABELS.answer, field.value]);
  return card.dataset.chosen ? [[CHOICE_LABEL, card.dataset.chosen], ...drafts] : drafts;
}

// The drafts that a card without a form keeps, for a newer state of it.
const readKeptDrafts = (card) => findAll("label > textarea[readonly]", card)
  .map((field) => [field.parentElement.firstChild.data, field.value]);

function appendDrafts(settledCard, drafts) {
  const shownTexts = findAll("textarea", settledCard).map((field) => field.value);
  for (const [labelText, text] of drafts) {
    if (shownTexts.includes(text)) continue;
    const label = document.createElement("label");
    label.className = "field";
    label.textContent = labelText;
    const field = document.createElement("textarea");
    field.readOnly = true;
    field.rows = 2;
    field.value = text;
    label.append(field);
    settledCard.append(label);
  }
}

// Ids of cards whose update was skipped while they were being sent; if that fails, the server is
// asked for the update again.
const skippedUpdates = new Set();
function requestSkipped(card) {
  if (skippedUpdates.delete(card.id)) sendPageState();
}

// A card's other requests, as that of its context, bring no outcome.
const isBeingSent = (card) => card.matches(".htmx-request")
  || findAll(DECISION_FORMS, card).some((form) => form.matches(".htmx-request"));

// After a redaction the settled card of a question's page is replaced with the state around it.
on("htmx:oobBeforeSwap", (event) => {
  const [card, newCard] = [event.target, event.detail.fragment].map((root) => root.querySelector(".card"));
  if (event.target.id === "question-state" && card && newCard) appendDrafts(newCard, readKeptDrafts(card));
});

on("htmx:oobBeforeSwap", (event) => {
  // A card that is being sent is replaced by its reply, which has what was typed. A settled card
  // stays, since it may hold a draft or the focus.
  const card = event.target.closest(".card");
  const isPending = card && (card.dataset.outcome === "open" || "pending" in card.dataset);
  const isSending = card && isBeingSent(card);
  if (isSending) skippedUpdates.add(card.id);
  if (card && (!isPending || isSending)) {
    event.preventDefault();
    return;
  }
  const newCard = (card || event.target.id === "inbox") && event.detail.fragment.querySelector(".card");
  if (!newCard) return;
  if (!card) {
    removeUnavailable(newCard.id);
    return;
  }
  const isForm = Boolean(newCard.querySelector("form"));
  if (isForm && card.querySelector("form")) { // asked for twice: somebody may be typing into the first
    event.preventDefault();
    return;
  }
  if (card.contains(document.activeElement)) settledFocusId = card.id;
  if (isForm) return;
  appendDrafts(newCard, [...readDrafts(card), ...readKeptDrafts(card)]);
  // A card returns once its person may answer again, and its draft with it, unless it has an outcome.
  if (newCard.dataset.outcome && !("pending" in newCard.dataset)) deleteDrafts(card);
});

// A card that comes back takes the place of the one that said it was no longer available.
function removeUnavailable(id) {
  const card = byId(id);
  if (!card || card.dataset.outcome) return;
  if (card.contains(document.activeElement)) settledFocusId = id;
  card.remove();
}

// Whoever was on a button of a card that was settled meanwhile stays on the card. Who was typing gets
// no focus there: their next keys would be shortcuts (preserve-state.js announces it).
let settledFocusId = "";
export function focusSettledCard() {
  const card = byId(settledFocusId);
  settledFocusId = "";
  if (!card || isFieldRemoved() || document.activeElement !== document.body) return;
  card.tabIndex = -1;
  card.focus({ preventScroll: true });
}

// The response to a card's form.
const STATUS_OPEN = 422;
const STATUS_LATE = 409;
const lateDrafts = new Map();
on("htmx:beforeSwap", (event) => {
  const card = event.target;
  const { xhr, shouldSwap } = event.detail;
  if (!card.matches(".card") || xhr.status === STATUS_OPEN || isSnooze(event)) return;
  if (xhr.status === STATUS_LATE) lateDrafts.set(card.id, readDrafts(card));
  if (shouldSwap) deleteDrafts(card);
});

// After an answer the focus moves to the next open card, which may come with a later message, or
// else stays on the outcome. After a refusal it stays on the card: what is typed next, such as a
// secret, belongs there.
const NEXT_CARD_TIMEOUT_MS = 2000; // in which a later card gets the focus
let focusedOutcome = null; // the settled card with the focus, and until when a later card gets it
function moveFocus(card) {
  // An approval is focused as a whole: a key that is pressed once too often must not allow a call.
  // A question with a default answer has the focus there; one without is focused as a whole too.
  const openCard = card.dataset.outcome === "open" ? card : findNextCard(card);
  const field = openCard && "question" in openCard.dataset && openCard.querySelector(".answer-form")
    .querySelector("button[data-default], input:checked, input:is([type=radio], [type=password]), textarea");
  const target = field || openCard || card;
  if (!field) target.tabIndex = -1;
  if (openCard) focusUnread(target);
  else target.focus({ preventScroll: true });
  focusedOutcome = openCard ? null : { card, until: Date.now() + NEXT_CARD_TIMEOUT_MS };
}
export function focusNextCard() {
  if (!focusedOutcome || !findOpenCards().length) return;
  const { card, until } = focusedOutcome;
  if (document.activeElement === card && Date.now() < until) moveFocus(card);
  focusedOutcome = null;
}
on("htmx:afterSwap", (event) => {
  const card = byId(event.target.id);
  if (!card || !card.matches(".card:not([data-pending])")) return;
  appendDrafts(card, lateDrafts.get(card.id) || []);
  lateDrafts.delete(card.id);
  if (card.dataset.outcome === "open") requestSkipped(card);
  else skippedUpdates.delete(card.id);
  if (document.activeElement && document.activeElement !== document.body) return;
  numberCards();
  moveFocus(card);
});

// A form that was not sent stays in its card, with the reason.
const STATUS_TEXTS = {
  403: "access denied; reload the page and sign in again if asked",
  404: "it no longer exists, or you don't have access",
  413: "it's too long",
};
function describeError(event) {
  if (event.type === "htmx:timeout") return "the server didn't reply";
  if (event.type === "htmx:sendError") {
    return navigator.onLine ? "the server can't be reached" : "this device is offline";
  }
  const status = event.detail.xhr.status;
  return STATUS_TEXTS[status] || `the server returned an error (${status})`;
}

// After a refusal, or without a network, nothing was saved. After a timeout or a lost connection the
// answer may have been; sending it again is safe, since a question is settled once.
function describeResult(event) {
  const isRefused = event.type === "htmx:responseError" && event.detail.xhr.status < 500;
  return isRefused || (event.type === "htmx:sendError" && !navigator.onLine) ? "Not sent" : "Not confirmed";
}

// The page of a database outage: its cause, whether what was sent was saved, and whether nothing can
// be read meanwhile.
function readOutage({ xhr }) {
  if (!xhr || xhr.status !== STATUS_OUTAGE) return {};
  const page = new DOMParser().parseFromString(xhr.responseText, "text/html");
  const title = page.querySelector("main h1");
  if (!title) return {};
  const paragraphs = findAll("main p", page).map(({ textContent }) => textContent.trim());
  const text = `${title.textContent}. ${paragraphs.join(" ")} Your input is still here.`;
  return { text, preventsReads: "preventsReads" in title.dataset };
}

// The notice of such an outage ends with the first update that the server could read. Without a
// change the server sends none, so the page asks for one.
const OUTAGE_POLL_MS = 5000;
const findOutages = () => findAll(".card [data-prevents-reads]");
let outageTimer = 0;
function pollDatabase() {
  clearTimeout(outageTimer);
  outageTimer = setTimeout(() => {
    if (!findOutages().length) return;
    sendPageState();
    pollDatabase();
  }, OUTAGE_POLL_MS);
}
on("htmx:oobBeforeSwap", (event) => {
  if (event.target.id !== "question-count") return;
  for (const problem of findOutages()) {
    delete problem.dataset.preventsReads;
    problem.textContent = "The database is available again. Your input is still here. Try again.";
  }
});

function getProblemElement(card) {
  const existing = card.querySelector("[data-problem]");
  if (existing) return existing;
  const problem = document.createElement("p");
  problem.className = "problem";
  problem.setAttribute("role", "alert");
  problem.dataset.problem = "";
  card.querySelector("form").before(problem);
  return problem;
}

let pressedButton = null; // the element that had the focus when its card was sent
on("htmx:beforeRequest", (event) => {
  const card = event.target.closest(".card");
  if (!card) return;
  if (card.contains(document.activeElement)) pressedButton = document.activeElement;
  const problem = card.querySelector("[data-problem]");
  if (!problem) return;
  problem.hidden = true;
  delete problem.dataset.preventsReads;
});
for (const name of ["htmx:sendError", "htmx:timeout", "htmx:responseError"]) {
  on(name, (event) => {
    const card = event.target.closest(".card");
    if (!card) return;
    const problem = getProblemElement(card);
    requestSkipped(card);
    const outage = readOutage(event.detail);
    problem.toggleAttribute("data-prevents-reads", Boolean(outage.preventsReads));
    if (outage.preventsReads) pollDatabase();
    problem.textContent = event.target.matches(".context-fold")
      ? `Couldn't load the context: ${describeError(event)}. Its link opens it on a page of its own.`
      : outage.text || `${describeResult(event)}: ${describeError(event)}. Your input is still here. Try again.`;
    problem.hidden = false;
    // A disabled button loses the focus.
    setTimeout(() => {
      const hasNoFocus = !document.activeElement || document.activeElement === document.body;
      if (hasNoFocus && pressedButton && card.contains(pressedButton)) pressedButton.focus();
    });
  });
}

// Each card's position in the queue, which changes while the card stays the same.
export function numberCards() {
  const openCards = findOpenCards();
  const hiddenCount = byId("hidden-count");
  const total = openCards.length + Number(hiddenCount ? hiddenCount.dataset.hiddenCount : 0);
  openCards.forEach((card, index) => {
    const position = card.querySelector("[data-position]");
    if (position) position.textContent = total > 1 ? `${index + 1} of ${total.toLocaleString("en")}` : "";
  });
}

// Approvals are no events, so the counts above come without them.
export function showApprovals() {
  const cards = findOpenCards().filter((card) => "approval" in card.dataset);
  const counts = byId("counts");
  if (!counts) return;
  for (const badge of findAll("[data-approvals]", counts)) badge.remove();
  if (!cards.length) return;
  const badge = Object.assign(document.createElement("span"), { className: "state" });
  Object.assign(badge.dataset, { approvals: "", outcome: "open" });
  badge.textContent = `${cards.length} approval${cards.length > 1 ? "s" : ""} needed`;
  counts.append(badge);
}

function describeCard(card) {
  const label = "approval" in card.dataset ? "Approval needed" : "New question";
  return `${label}: ${card.querySelector(".question-title").textContent.trim()}`;
}
const announcedIds = new Set(findOpenCards().map((card) => card.id));
export function announceNewCards() {
  const openCards = findOpenCards();
  const openIds = openCards.map(({ id }) => id);
  // A card that has left, such as a snoozed one, is announced when it comes back.
  for (const id of announcedIds) if (!openIds.includes(id)) announcedIds.delete(id);
  const newCards = openCards.filter((card) => !announcedIds.has(card.id));
  for (const card of newCards) announcedIds.add(card.id);
  // Screen readers read only the last of several texts that are set at once.
  if (newCards.length) announce(newCards.map(describeCard).join("; "));
}

// Fragments from the socket have no CSRF token.
const csrfToken = document.querySelector("meta[name=csrf-token]");
on("htmx:load", (event) => {
  for (const field of findAll("input[name=csrfmiddlewaretoken]", event.target)) {
    if (!field.value && csrfToken) field.value = csrfToken.content;
  }
  restoreDrafts(event.target);
});

// A permalink expands what holds its event; an event that the URL names as closed stays closed.
const ANCHOR = /^e-[\w-]+$/;
export function revealHash() {
  const id = location.hash.length > 1 && decodeURIComponent(location.hash.slice(1));
  const target = id && byId(id);
  if (!target) {
    if (id) openAround(id);
    return;
  }
  revealElement(target);
  if (readAnchors("shut").includes(target.id)) target.open = false;
}
window.addEventListener("hashchange", revealHash);

// A fragment never reaches the server: where the page lacks its event, as that of an address in an
// older export may, the parameter asks for the window around it.
function openAround(id) {
  if (!byId("transcript") || !ANCHOR.test(id) || readParameter("at") === id) return;
  location.replace(buildUrl({ ...NO_POSITION, at: id }, `#${id}`));
}
