// What every part asks of the page.

export const all = (selector, root = document) => [...root.querySelectorAll(selector)];
export const byId = (id) => document.getElementById(id);
export const on = (name, listener, early) => document.addEventListener(name, listener, early);

// Whose page this is: another may have signed in with this browser since.
export const person = Number(document.body.dataset.person);

// What somebody types into.
export const WRITING = "textarea, select, input:not([type=radio], [type=checkbox])";

// Cards that wait: of questions (data-question) and of prompts (data-prompt).
export const openCards = () => all(".card[data-outcome=open]");

// Local storage may be full or forbidden; then nothing is kept and nothing breaks.
export function recall(name) {
  try { return localStorage.getItem(name); } catch { return null; }
}
export function keep(name, value) {
  try { localStorage.setItem(name, value); } catch { /* it counts for this page alone */ }
}

// Take somebody to an element: unfold what hides it, and give a card the focus.
export function land(target) {
  for (let fold = target; fold; fold = fold.parentElement) {
    if (fold.tagName === "DETAILS") fold.open = true;
  }
  target.scrollIntoView();
  if (target.classList.contains("card")) {
    target.tabIndex = -1;
    target.focus({ preventScroll: true });
  }
}
