// Helpers for the page's elements, and for settings in the browser's local storage.

export const findAll = (selector, root = document) => [...root.querySelectorAll(selector)];
export const byId = (id) => document.getElementById(id);
export const on = (name, listener, options) => document.addEventListener(name, listener, options);

// The person for whom the page was rendered; another may have signed in with this browser since.
export const personId = Number(document.body.dataset.person);

export const TEXT_FIELDS = "textarea, select, input:not([type=radio], [type=checkbox])";

// Pending cards of questions (data-question) and of approvals (data-approval).
export const findOpenCards = () => findAll(".card[data-outcome=open]");

// The forms that settle a card, of which one is sent at a time.
export const DECISION_FORMS = ".answer-form, .decline-form";

// The status of an answer, by form or socket, that the database could not take.
export const STATUS_OUTAGE = 503;

// Local storage may be full or forbidden; a setting then applies to this page alone, or not at all.
export function readSetting(name) {
  try { return localStorage.getItem(name); } catch { return null; }
}
export function saveSetting(name, value) {
  try { localStorage.setItem(name, value); } catch { /* applies to this page alone */ }
}

export const makeElement = (tag, props = {}) => Object.assign(document.createElement(tag), props);

// Have screen readers read a text: the region is live, and not seen.
export const announce = (text) => { byId("announcer").textContent = text; };

// Scroll to an element: expand the details around it, and focus a card.
export function revealElement(target) {
  for (let ancestor = target; ancestor; ancestor = ancestor.parentElement) {
    if (ancestor.tagName === "DETAILS") ancestor.open = true;
  }
  target.scrollIntoView();
  if (target.classList.contains("card")) {
    target.tabIndex = -1;
    target.focus({ preventScroll: true });
  }
}
