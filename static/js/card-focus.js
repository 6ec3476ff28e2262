// The focus of cards after an answer: it moves on by itself, to what the person has not read yet.
import { on } from "./dom.js";

const READING_TIME_MS = 500; // in which a person has not read what got the focus
let unreadUntil = 0;
export const isUnread = () => Date.now() < unreadUntil;
export function markRead() {
  unreadUntil = 0;
}
for (const name of ["input", "pointerdown"]) on(name, markRead);

// Move the focus to a card or to a control of it. A key that is pressed at once was meant for the
// card before.
export function focusUnread(target) {
  target.focus({ preventScroll: true });
  for (const element of [target.closest(".card"), target]) element.scrollIntoView({ block: "nearest" });
  unreadUntil = Date.now() + READING_TIME_MS;
}
