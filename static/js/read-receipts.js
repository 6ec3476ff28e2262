// Read receipts: a card was visible, was focused, or has a draft. Each is sent once per card and page;
// what is typed is not sent.
import { findOpenCards, on } from "./dom.js";
import { sendMessage } from "./socket.js";

const VISIBLE_RATIO = 0.5; // of the card, or of the screen where the card is larger
const VISIBLE_TIME_MS = 500;
const reportedKeys = new Set();
let unsentReceipts = [];
let sendTimer;

function addReceipt(card, kind) {
  const question = Number(card.dataset.question);
  const key = `${question} ${kind}`;
  if (!question || card.dataset.outcome !== "open" || reportedKeys.has(key)) return;
  reportedKeys.add(key);
  unsentReceipts.push([question, kind]);
  // Sent at once: receipts of a card precede its answer.
  sendTimer = sendTimer || setTimeout(sendReceipts);
}
export function sendReceipts() {
  clearTimeout(sendTimer);
  sendTimer = undefined;
  if (unsentReceipts.length && sendMessage({ receipts: unsentReceipts })) unsentReceipts = [];
}
on("jpweb:connected", sendReceipts);

const timers = new Map();
const cardsInView = new Set();
const startTimer = (card) => {
  if (document.hidden || timers.has(card)) return;
  timers.set(card, setTimeout(() => addReceipt(card, "visible"), VISIBLE_TIME_MS));
};
const stopTimer = (card) => {
  clearTimeout(timers.get(card));
  timers.delete(card);
};
const observer = new IntersectionObserver((entries) => {
  for (const { target, intersectionRect, boundingClientRect, rootBounds } of entries) {
    const screenHeight = rootBounds ? rootBounds.height : window.innerHeight;
    const neededHeight = VISIBLE_RATIO * Math.min(boundingClientRect.height, screenHeight);
    const isVisible = intersectionRect.height >= neededHeight && intersectionRect.height > 0;
    cardsInView[isVisible ? "add" : "delete"](target);
    (isVisible ? startTimer : stopTimer)(target);
  }
}, { threshold: [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1] });
on("visibilitychange", () => cardsInView.forEach(document.hidden ? stopTimer : startTimer));

const observedCards = new WeakSet();
export function observeCards() {
  for (const card of findOpenCards()) {
    if (!card.dataset.question || observedCards.has(card)) continue;
    observedCards.add(card);
    observer.observe(card);
  }
}

const findCard = (event) => event.target.closest && event.target.closest(".card[data-question]");
// A focus that a script sets when the page arrives is no act of a person.
let isAutomatic = false;
export function focusWithoutReceipt(setFocus) {
  isAutomatic = true;
  setFocus();
  isAutomatic = false;
}
on("focusin", (event) => {
  const card = findCard(event);
  if (card && !isAutomatic) addReceipt(card, "focused");
});
on("input", (event) => {
  const card = findCard(event);
  if (card) addReceipt(card, "draft");
});
