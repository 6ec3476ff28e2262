// The outline beside a conversation: it marks the turn that a person reads. Its links, and those of
// cards, move to loaded items without loading a page.
import { byId, findAll, on, readSetting, saveSetting } from "../dom.js";
import { AUTOMATIC, fetchResponse } from "../requests.js";
import { findCurrent, makeCurrent } from "./navigation.js";
import { getHeaderEdge, getTop } from "./scroll-position.js";
import { NO_POSITION, buildUrl, pushUrl } from "./url-state.js";

const NARROW_SCREEN = "(max-width: 70rem)"; // there the outline is above the transcript
const FETCH_DELAY_MS = 400; // that a person stays in a turn that the outline does not list
const SETTING = "outline"; // in local storage

const findRows = () => findAll("#outline li[data-turn]");
const findRow = (number) => findRows().find((row) => row.dataset.turn === number);

// Return the number of the turn of the current item, or of the first item in view. The heading of a
// turn that continues in another window is hidden.
function findCurrentTurn() {
  const headings = findAll("#transcript .turn-head").filter((heading) => heading.offsetParent);
  const current = findCurrent();
  const maxTop = current ? getTop(current) + 1 : getHeaderEdge() + 40;
  const heading = headings.findLast((element) => getTop(element) <= maxTop) || headings[0];
  return heading && heading.dataset.turn;
}

let markedTurn;
let fetchTimer;
function markCurrentTurn(headers) {
  const number = findCurrentTurn();
  if (number === undefined || number === markedTurn) return;
  markedTurn = number;
  clearTimeout(fetchTimer);
  if (!markTurn(number)) fetchTimer = setTimeout(() => fetchOutline(number, headers), FETCH_DELAY_MS);
}
// Mark a turn's row; tell whether the outline lists it.
function markTurn(number) {
  const row = findRow(number);
  if (!row) return false;
  for (const older of findAll("#outline li[aria-current]")) older.removeAttribute("aria-current");
  row.setAttribute("aria-current", "true");
  // Scroll within the outline, not the page.
  const box = byId("outline");
  const link = row.querySelector("a") || row;
  const offset = getTop(link) - getTop(box);
  if (offset < 0 || offset > box.clientHeight - 2 * link.offsetHeight) box.scrollTop += offset - box.clientHeight / 3;
  return true;
}
// Return a function that opens in a newer outline what is open in this one.
function noteOpen() {
  const isOpen = document.querySelector(".outline-body").open;
  const openTurns = findAll("#outline li > details[open]").map((element) => element.parentElement.dataset.turn);
  return (outline) => {
    outline.querySelector(".outline-body").open = isOpen;
    for (const row of findAll("li[data-turn]", outline)) {
      const details = row.querySelector("details");
      if (!openTurns.includes(row.dataset.turn) || details.open) continue;
      details.dataset.reopened = "";
      details.open = true;
    }
  };
}
// A new revision comes with its outline, in which no turn is marked.
on("htmx:oobBeforeSwap", ({ detail: { target, fragment } }) => {
  if (target.id !== "outline" || !byId("transcript")) return;
  noteOpen()(fragment);
  markedTurn = undefined;
});
// Load the outline around a turn; tell whether it was replaced.
async function fetchOutline(number, headers) {
  const url = `${byId("transcript").dataset.href}?turn=${number}`;
  const response = await fetchResponse(url, { headers: { Accept: "text/html", ...headers } });
  if (!response || !response.ok || markedTurn !== number || byId("outline").contains(document.activeElement)) return false;
  const restoreOpen = noteOpen();
  htmx.swap("#outline", await response.text(), { swapStyle: "outerHTML", swapDelay: 0, settleDelay: 0, ignoreTitle: true }, { select: "#outline" });
  restoreOpen(byId("outline"));
  markTurn(number);
  return true;
}

// New entries are in the outline soon after they are on the page.
const UPDATE_DELAY_MS = 1000;
const getLastTurn = () => Number(byId("counts").dataset.turns) - 1;
const readState = () => { const { entryCount, revision } = byId("counts").dataset; return `${entryCount} ${revision}`; };
let shownState;
let updateTimer;
function scheduleUpdate() {
  if (readState() === shownState || updateTimer) return;
  updateTimer = setTimeout(async () => {
    updateCounts();
    const state = readState();
    const hasFocus = byId("outline").contains(document.activeElement);
    const isNewRevision = shownState.split(" ")[1] !== state.split(" ")[1];
    let isUpdated = false;
    try {
      isUpdated = !hasFocus && (await updateOutline(isNewRevision));
    } finally { updateTimer = 0; }
    if (isUpdated) shownState = state;
    // A failed update is tried again with the next change.
    if (isUpdated || readState() !== state) scheduleUpdate();
  }, UPDATE_DELAY_MS);
}
// Update the number of turns, and of those after the listed ones.
function updateCounts() {
  document.querySelector(".outline-body > summary .muted").textContent =
    document.querySelector("[data-count=turns]").parentElement.textContent;
  const link = document.querySelector("#outline ol ~ .outline-more a");
  if (link) link.textContent = `${(getLastTurn() - Number(findRows().at(-1).dataset.turn)).toLocaleString("en-GB")} later`;
}
// Load the outline around the marked turn, again if another one was marked meanwhile; tell whether it
// was replaced.
async function reloadOutline() {
  const number = markedTurn;
  return (await fetchOutline(number, AUTOMATIC)) || (markedTurn !== number && reloadOutline());
}
// Bring the outline up to date; tell whether it is.
async function updateOutline(isNewRevision) {
  const number = String(getLastTurn());
  const row = findRow(number);
  const lacksPrompt = row && row.querySelector("[data-no-prompt]");
  if ((isNewRevision || lacksPrompt) && markedTurn !== undefined) return reloadOutline();
  if (!row && markedTurn !== undefined && !document.querySelector("#outline ol ~ .outline-more")) return reloadOutline();
  const items = row && row.querySelector("ol.outline-items");
  if (!items) return true;
  const url = `${byId("transcript").dataset.href}/outline?turn=${number}`;
  const response = await fetchResponse(url, { headers: { "HX-Request": "true", ...AUTOMATIC } });
  if (!response || !response.ok || items.contains(document.activeElement)) return false;
  if (!items.isConnected) return updateOutline(false);
  htmx.swap(items, await response.text(), { swapStyle: "outerHTML", swapDelay: 0, settleDelay: 0 });
  return true;
}

// On a narrow screen the outline is collapsed; elsewhere it is as the person left it.
const setOpen = (isOpen) => { document.querySelector(".outline-body").open = isOpen; };
on("toggle", ({ target }) => {
  if (!target.matches(".outline-body")) return;
  document.querySelector("[data-outline-toggle]").setAttribute("aria-expanded", String(target.open));
  if (!matchMedia(NARROW_SCREEN).matches) saveSetting(SETTING, target.open ? "open" : "folded");
}, true);

on("click", (event) => {
  if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const link = event.target.closest && event.target.closest("#outline a[href*='#'], #transcript .turn-head a, .card-heading a[href*='#']");
  const anchor = link && link.pathname === location.pathname && link.hash.slice(1);
  const target = anchor && byId(anchor);
  if (!target || !target.closest("#transcript")) return;
  event.preventDefault();
  const parameters = new URL(link.href).searchParams;
  const position = Object.fromEntries(Object.keys(NO_POSITION).map((name) => [name, parameters.get(name) || ""]));
  pushUrl(buildUrl(position, link.hash));
  makeCurrent(target);
  if (matchMedia(NARROW_SCREEN).matches && link.closest("#outline")) {
    document.querySelector(".outline-body").open = false;
    target.scrollIntoView({ block: "start", behavior: "instant" });
  }
});

on("click", ({ target }) => {
  if (!target.closest || !target.closest("[data-outline-toggle]")) return;
  const body = document.querySelector(".outline-body");
  body.open = !body.open;
  if (body.open) body.querySelector("summary").focus();
});

if (byId("outline") && byId("transcript")) {
  setOpen(!matchMedia(NARROW_SCREEN).matches && readSetting(SETTING) !== "folded");
  let frameHeaders = null; // of what is fetched for the frame that is requested
  const markInNextFrame = (headers = {}) => {
    const isFrameRequested = Boolean(frameHeaders);
    frameHeaders = { ...frameHeaders, ...headers };
    if (isFrameRequested) return;
    requestAnimationFrame(() => {
      markCurrentTurn(frameHeaders);
      frameHeaders = null;
    });
  };
  on("scroll", () => markInNextFrame(), { passive: true });
  on("jpweb:windows", () => markInNextFrame());
  shownState = readState();
  on("htmx:wsAfterMessage", () => {
    markInNextFrame(AUTOMATIC);
    scheduleUpdate();
  });
  on("jpweb:outline", (event) => setOpen(event.detail));
  byId("outline").closest("main").addEventListener("focusout", () => setTimeout(scheduleUpdate));
  markInNextFrame();
}
