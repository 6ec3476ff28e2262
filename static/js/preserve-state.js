// Preserves a person's state over swaps: which details are open, which item is current, the focus.
import { TEXT_FIELDS, announce, byId, findAll, on } from "./dom.js";

const isJustSettled = (before, after) =>
  before.dataset.outcome === "open" && after.dataset.outcome !== "open" &&
  !before.contains(document.activeElement);
function copyState(root) {
  for (const newer of [root, ...findAll("[id]", root)]) {
    const older = newer.id && byId(newer.id);
    if (!older) continue;
    if (newer.matches("details") && !isJustSettled(older, newer)) newer.open = older.open;
    if (older.matches("#transcript [aria-current]")) newer.setAttribute("aria-current", older.getAttribute("aria-current"));
  }
}

// Parts of a question's page, which fetches them every 30 seconds and after each message.
const REFRESHED = "#question-details, #timeline, .card[data-pending]";

// The focus in an element that is replaced: a link is found again by its URL, anything else by the
// nearest id, or in a refreshed part by its position; details have the focus in their summary.
const findRegions = (root) => findAll("[tabindex]", root);
let savedFocus = null;
function saveFocus(older) {
  const focused = document.activeElement;
  if (!older.contains(focused)) return;
  const holder = focused.closest("[id]");
  const { selectionStart, selectionEnd } = focused;
  savedFocus = older.contains(holder)
    ? { id: holder.id, href: focused.getAttribute("href"), region: findRegions(holder).indexOf(focused), selectionStart, selectionEnd }
    : null;
}
function restoreFocus() {
  const holder = savedFocus && byId(savedFocus.id);
  const { href, region, selectionStart, selectionEnd } = savedFocus || {};
  savedFocus = null;
  if (!holder || (document.activeElement && document.activeElement !== document.body)) return;
  const link = href && findAll("a[href]", holder).find((element) => element.getAttribute("href") === href);
  const target = link || (holder.matches(REFRESHED) && findRegions(holder)[region])
    || (holder.matches("details") ? holder.querySelector("summary") : holder);
  if (target.tabIndex < 0) target.tabIndex = -1;
  target.focus({ preventScroll: true });
  if (target.matches("textarea") && selectionStart !== undefined) target.setSelectionRange(selectionStart, selectionEnd);
}

// Replace an element by a newer state of it.
export function replaceElement(older, newer) {
  copyState(newer);
  if (older.isEqualNode(newer)) return;
  saveFocus(older);
  htmx.swap(older, newer.outerHTML, { swapStyle: "outerHTML", swapDelay: 0, settleDelay: 0 });
  restoreFocus();
}

// The state of a workspace's files is fetched every few seconds.
on("htmx:beforeSwap", (event) => {
  const files = event.target;
  if (!files.matches(".files") || !event.detail.shouldSwap) return;
  event.detail.shouldSwap = false;
  const template = document.createElement("template");
  template.innerHTML = event.detail.serverResponse;
  files.classList.remove("htmx-request");
  replaceElement(files, template.content.querySelector(".files"));
});

// Keys that are typed into a field after it was removed must not act as keyboard shortcuts.
let typedField = null;
function reportRemovedField() {
  const field = typedField;
  typedField = null;
  if (!field || field.isConnected || (document.activeElement && document.activeElement !== document.body)) return;
  document.dispatchEvent(new CustomEvent("jpweb:field-removed"));
  const card = field.closest(".card");
  const settledCard = card && byId(card.id);
  if (settledCard) {
    const hasDraft = settledCard.querySelector("textarea[readonly]");
    const text = settledCard.dataset.outcome ? "This was settled meanwhile." : settledCard.querySelector("p").textContent;
    announce(`${text}${hasDraft ? " Your draft is kept in its card." : ""}`);
  } else if (field.closest("[data-draft]")) {
    announce("The field was removed. Your draft is kept and returns with it.");
  }
}

// Whether an element is as the server sends it again, but for the buttons that scripts added.
function isUnchanged(older, newer) {
  const copy = older.cloneNode(true);
  for (const button of findAll(".copy-block", copy)) button.remove();
  return copy.isEqualNode(newer);
}

on("htmx:oobBeforeSwap", (event) => {
  const { target, fragment } = event.detail;
  const focused = document.activeElement;
  if (target.contains(focused) && focused.matches(TEXT_FIELDS)) typedField = focused;
  if (!fragment.children) return;
  for (const newer of [fragment, ...fragment.children]) if (newer.matches) copyState(newer);
  if (target.matches(`#conversation-problem, ${REFRESHED}`) && isUnchanged(target, fragment.firstElementChild)) event.preventDefault();
  else if (target.matches(`#transcript *, #event-filter, #composer, #snoozed, ${REFRESHED}`) && target.id !== "transcript-end") saveFocus(target);
});
on("htmx:afterSwap", restoreFocus);
on("htmx:wsAfterMessage", () => {
  restoreFocus();
  reportRemovedField();
});
