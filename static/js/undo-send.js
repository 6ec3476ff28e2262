// Answers by one press are sent some seconds later, so that they can be undone. Who leaves the page
// meanwhile sends them at once. Forms have these buttons: <button name="answer" value="…">.
import { focusUnread, isUnread } from "./card-focus.js";
import { announce, findOpenCards, on } from "./dom.js";

// Milliseconds; 0: an answer is sent at once.
const getUndoTime = () => Number(document.body.dataset.undoSeconds || 0) * 1000;
const pendingAnswers = []; // the answers that wait, the last one pressed at the end
const confirmedForms = new WeakSet(); // forms whose time to undo is over

export const isUndoable = (card) => card.classList.contains("undoable");

// The open card that follows a card on the page, or after the last one the first.
export function findNextCard(card) {
  const openCards = findOpenCards().filter((openCard) => openCard !== card && !isUndoable(openCard));
  const isLater = (openCard) => card.compareDocumentPosition(openCard) & Node.DOCUMENT_POSITION_FOLLOWING;
  return openCards.find(isLater) || openCards[0];
}

function makeNote(label) {
  const note = document.createElement("p");
  note.className = "undo-note";
  note.style.setProperty("--undo-time", `${getUndoTime()}ms`);
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button-secondary";
  button.textContent = "Undo";
  const text = document.createElement("span");
  text.append("Sending ", Object.assign(document.createElement("strong"), { textContent: label }), "…");
  note.append(text, button);
  return note;
}

function startCountdown(form, button) {
  const card = form.closest(".card");
  const label = button.textContent.trim();
  const note = makeNote(label);
  card.classList.add("undoable");
  card.dataset.chosen = label;
  card.append(note);
  const pending = { card, form, button, note, timer: setTimeout(() => sendNow(pending), getUndoTime()) };
  pendingAnswers.push(pending);
  announce(`${label}: will be sent in ${getUndoTime() / 1000} seconds. Press U to undo.`);
  const nextCard = findNextCard(card);
  if (nextCard) nextCard.tabIndex = -1;
  focusUnread(nextCard || note.querySelector("button"));
}

function stopCountdown(pending) {
  clearTimeout(pending.timer);
  pendingAnswers.splice(pendingAnswers.indexOf(pending), 1);
  pending.note.remove();
  pending.card.classList.remove("undoable");
  delete pending.card.dataset.chosen;
}

function sendNow(pending) {
  const hadFocus = pending.note.contains(document.activeElement);
  stopCountdown(pending);
  if (!pending.form.isConnected) return; // settled by someone else meanwhile
  if (hadFocus) pending.button.focus({ preventScroll: true });
  confirmedForms.add(pending.form);
  pending.form.requestSubmit(pending.button);
  confirmedForms.delete(pending.form);
}

// Undo the answer of a card, or the last one. Returns false where none waits.
export function undoAnswer(card) {
  const pending = card ? pendingAnswers.find((answer) => answer.card === card) : pendingAnswers.at(-1);
  if (!pending) return false;
  stopCountdown(pending);
  pending.button.focus({ preventScroll: true });
  announce("Undone. Nothing was sent.");
  return true;
}

on("submit", (event) => {
  const { target: form, submitter } = event;
  if (!submitter || submitter.name !== "answer" || !form.closest(".card[data-outcome=open]")) return;
  if (confirmedForms.has(form)) return;
  form.dispatchEvent(new Event("input", { bubbles: true })); // on record as a draft
  if (!getUndoTime()) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (!isUndoable(form.closest(".card"))) startCountdown(form, submitter);
}, true);
// Undo takes the place of what was pressed: the second press of two at once is not meant for it.
on("click", (event) => {
  const { target, detail: pressCount } = event;
  if (!target.closest || !target.closest(".undo-note button")) return;
  if (pressCount <= 1 && !isUnread()) undoAnswer(target.closest(".card"));
});

// A page that is left has no time for a reply; one in the background still has a connection.
addEventListener("pagehide", () => {
  for (const pending of [...pendingAnswers]) {
    const fields = new FormData(pending.form, pending.button);
    stopCountdown(pending);
    fetch(pending.form.action, { method: "POST", body: new URLSearchParams(fields), keepalive: true });
  }
});
on("visibilitychange", () => { if (document.hidden) [...pendingAnswers].forEach(sendNow); });
// Sending later would lose the answer of who signs out.
on("submit", (event) => {
  if (event.target.hasAttribute("data-sign-out")) [...pendingAnswers].forEach(sendNow);
});
