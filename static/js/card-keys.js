// Keyboard shortcuts of cards: to answer, to decline, and to go from card to card.
import { TEXT_FIELDS, byId, findAll, findOpenCards, on } from "./dom.js";
import { isUnread, markRead } from "./card-focus.js";
import { bindKeys, listKeys } from "./keyboard.js";
import { focusWithoutReceipt } from "./read-receipts.js";
import { isUndoable, undoAnswer } from "./undo-send.js";

const ANSWER_BUTTONS = "button[name=answer]";
const findVisibleCards = () => findOpenCards().filter((card) => card.checkVisibility());

export function focusCard(card) {
  card.tabIndex = -1;
  card.focus({ preventScroll: true });
  card.scrollIntoView({ block: "nearest" });
}
function stepCard(step) {
  const cards = findVisibleCards();
  const current = cards.findIndex((card) => card.contains(document.activeElement));
  const card = cards[current < 0 ? 0 : current + step];
  if (!card) return false;
  focusCard(card);
  return true;
}

// Choose the option at an index: press its button, or check it.
function chooseOption(card, index) {
  const option = findAll(`input[type=radio], ${ANSWER_BUTTONS}`, card)[index];
  if (!option || isUndoable(card)) return false;
  if (option.matches(ANSWER_BUTTONS)) {
    option.click();
    return true;
  }
  option.checked = true;
  option.focus();
  option.dispatchEvent(new Event("input", { bubbles: true }));
  return true;
}
function pressAnswer(card, value) {
  const button = card.querySelector(`${ANSWER_BUTTONS}[value=${value}]`);
  if (!button || card.dataset.answerType !== "boolean" || isUndoable(card)) return false;
  button.click();
  return true;
}
function revealReason(decline) {
  decline.open = true;
  decline.querySelector("input[type=text]").focus();
}
function openDecline(card) {
  const decline = card.querySelector(".decline");
  if (!decline || isUndoable(card)) return false;
  revealReason(decline);
  return true;
}
// An open fold hides its summary, which would lose the focus: what is typed next would be shortcuts.
on("click", (event) => {
  const summary = event.target.closest(".decline > summary");
  if (!summary) return;
  event.preventDefault();
  revealReason(summary.parentElement);
});

function pressClaim(card) {
  const button = card.querySelector("a.claim, .claim button:not([hidden])");
  if (!button || isUndoable(card)) return false;
  button.click();
  return true;
}
function openSnooze(card) {
  const link = card.querySelector("a.snooze");
  if (!link || isUndoable(card)) return false;
  link.click();
  return true;
}

// What is typed replaces a default answer. A press places the caret itself, after this.
on("focusin", ({ target }) => {
  if (target.matches("textarea[data-default]") && target.value === target.defaultValue) target.select();
});

const CARD_KEYS = {
  j: () => stepCard(1),
  k: () => stepCard(-1),
  y: (card) => pressAnswer(card, "true"),
  n: (card) => pressAnswer(card, "false"),
  d: openDecline,
  i: pressClaim,
  z: openSnooze,
  u: () => undoAnswer(),
};
const MOVING_KEYS = ["j", "k", "u"];

// Ctrl-Enter in these is for the browser: a link opens in a new tab.
const OWN_ACTIONS = "a[href], summary, [type=button], [type=reset]";
// As Enter does: by the button that has the focus, or else by the first one. Nothing is sent while
// that one is disabled: the next one may say the opposite.
function submitForm(form, target) {
  if (target.type === "submit") return target.click();
  if (form.querySelector(ANSWER_BUTTONS)) return; // each is an answer, so it needs to be pressed itself
  const button = form.querySelector("[type=submit]");
  if (button) button.click();
  else form.requestSubmit();
}

// Ctrl-Enter sends. Escape does nothing, so that no input is lost. Once a card is sent the focus is in
// the next one: a key that is held, or pressed once too often, must not answer that too.
on("keydown", (event) => {
  const { target, key } = event;
  if (!target.closest || event.isComposing) return;
  const form = target.closest("form");
  const card = target.closest(".card[data-outcome=open]");
  const isText = target.matches(TEXT_FIELDS);
  const hasModifier = event.ctrlKey || event.metaKey || event.altKey;
  const isSending = (key === "Enter" && (event.ctrlKey || event.metaKey || !target.matches("textarea")))
    || (key === " " && !isText);
  const isCardKey = !hasModifier && !isText && (key in CARD_KEYS || /^[1-9]$/.test(key));
  const isHasty = event.repeat || isUnread();
  if (card && isHasty && (isSending || (isCardKey && !MOVING_KEYS.includes(key)))) {
    event.preventDefault();
    return;
  }
  markRead();
  if (key === "Enter" && (event.ctrlKey || event.metaKey)) {
    if (!form || target.matches(OWN_ACTIONS)) return;
    event.preventDefault();
    submitForm(form, target);
    return;
  }
  if (!card || !isCardKey) return;
  const isDone = key in CARD_KEYS ? CARD_KEYS[key](card) : chooseOption(card, Number(key) - 1);
  if (isDone) event.preventDefault();
});

if (findAll("#inbox").length) {
  listKeys("In a question", [
    ["y", "Yes"],
    ["n", "No"],
    ["1-9", "Choose an option"],
    ["d", "Decline, with a reason"],
    ["i", "I'm on it, or release"],
    ["z", "Snooze"],
    ["u", "Undo the last answer"],
    ["j", "Next question"],
    ["k", "Previous question"],
  ]);
}

// On the page of all questions the first one has the focus on arrival.
const page = byId("page");
if (page && page.dataset.inbox && !page.dataset.conversation) {
  bindKeys("Questions", [
    ["j", "Next question", () => stepCard(1)],
    ["k", "Previous question", () => stepCard(-1)],
    ["u", "Undo the last answer", () => undoAnswer()],
  ]);
  const hasNoFocus = !document.activeElement || document.activeElement === document.body;
  if (hasNoFocus && !location.hash && findVisibleCards().length) {
    focusWithoutReceipt(() => focusCard(findVisibleCards()[0]));
  }
}
