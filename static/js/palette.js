// The command palette: every page, conversations by title, and the shortcuts of this page.
import { findAll, makeElement, on, personId } from "./dom.js";
import { GLOBAL_TITLE, bindKeys, findPageShortcuts } from "./keyboard.js";
import { closeMenus } from "./menus.js";
import { fetchResponse } from "./requests.js";

const TYPING_PAUSE_MS = 150;
const palettePath = () => document.querySelector("[data-open-palette]").getAttribute("href");

function makeShortcutList() {
  const list = makeElement("ul", { className: "destinations" });
  list.dataset.group = "shortcuts";
  for (const { label, action, names } of findPageShortcuts()) {
    const button = makeElement("button", { type: "button", className: "link", textContent: label });
    button.append(" ", makeElement("kbd", { textContent: names[0] }));
    button.addEventListener("click", (event) => {
      event.target.closest("dialog").close();
      action(event);
    });
    const row = makeElement("li");
    row.append(button);
    list.append(row);
  }
  return list;
}

const hasWords = (text, words) => words.every((word) => text.includes(word));

// Pages and shortcuts are filtered here; conversations by the server.
function filterRows(dialog, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of findAll("[data-group=pages] li, [data-group=shortcuts] li", dialog)) {
    row.hidden = !hasWords(row.textContent.toLowerCase(), words);
  }
  for (const list of findAll(".destinations", dialog)) {
    list.previousElementSibling.hidden = !findAll("li:not([hidden])", list).length;
  }
}

const getQuery = (dialog) => dialog.querySelector("input").value.trim();
async function loadDestinations(dialog, query) {
  const url = `${palettePath()}?${new URLSearchParams({ q: query })}`;
  const response = await fetchResponse(url, { headers: { "HX-Request": "true" } });
  const html = response && response.ok && await response.text();
  if (!html || getQuery(dialog) !== query) return;
  const pages = dialog.querySelector(".palette-pages");
  const focusedPath = pages.contains(document.activeElement) && document.activeElement.getAttribute("href");
  pages.innerHTML = html;
  dialog.dataset.query = query;
  filterRows(dialog, query);
  if (!focusedPath) return;
  const sameLink = findAll("a", pages).find((link) => link.getAttribute("href") === focusedPath);
  (sameLink || dialog.querySelector("input")).focus();
}

// Open the first choice of what was typed, whose conversations may have to be loaded first.
async function openFirst(dialog) {
  const query = getQuery(dialog);
  if (dialog.dataset.query !== query) await loadDestinations(dialog, query);
  const [first] = listChoices(dialog);
  if (first && dialog.dataset.query === query && getQuery(dialog) === query) first.click();
}

const listChoices = (dialog) => findAll("a, .destinations button", dialog).filter((choice) => choice.checkVisibility());
function moveChoice(dialog, step) {
  const choices = listChoices(dialog);
  const index = choices.indexOf(document.activeElement) + step;
  const target = index < 0 ? dialog.querySelector("input") : choices[Math.min(index, choices.length - 1)];
  if (target) target.focus();
}

function openPalette() {
  if (document.querySelector("dialog[open]")) return;
  closeMenus();
  const dialog = makeElement("dialog", { className: "shortcuts-dialog palette" });
  dialog.setAttribute("aria-label", "Go to");
  const field = makeElement("input", { type: "search", placeholder: "Go to a page, a conversation, or an action", maxLength: 200, autocomplete: "off" });
  field.setAttribute("aria-label", "Go to a page, a conversation, or an action");
  const pages = makeElement("div", { className: "palette-pages" });
  const shortcuts = makeElement("div");
  const list = makeShortcutList();
  shortcuts.append(makeElement("h2", { textContent: "On this page" }), list);
  shortcuts.hidden = !list.children.length;
  dialog.append(field, pages, shortcuts);
  let timer;
  field.addEventListener("input", () => {
    filterRows(dialog, field.value);
    clearTimeout(timer);
    timer = setTimeout(() => loadDestinations(dialog, getQuery(dialog)), TYPING_PAUSE_MS);
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.isComposing) return; // Enter and the arrows choose characters
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      moveChoice(dialog, event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter" && event.target === field) {
      event.preventDefault();
      openFirst(dialog);
    }
  });
  // The browser returns the focus to where it was.
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  loadDestinations(dialog, "");
}

if (personId) {
  on("keydown", (event) => {
    if (event.key !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    openPalette();
  });
  on("click", (event) => {
    if (!event.target.closest || !event.target.closest("[data-open-palette]")) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    openPalette();
  });
  const findLink = (path) => document.querySelector(`.site-header a[href="${path}"]`);
  const goTo = (path) => () => {
    const link = findLink(path);
    if (link) link.click();
    return Boolean(link);
  };
  bindKeys(GLOBAL_TITLE, [
    ["gh", "Home", goTo("/")],
    ["gc", "Conversations", goTo("/conversations")],
    ["gs", "Search", goTo("/search")],
    ["gq", "Questions", goTo("/questions")],
    ["ga", "Audit", goTo("/audit")],
    ["gb", "Bookmarks", goTo("/bookmarks")],
    ["gm", "Mentions", goTo("/mentions")],
    ["/", "Search", goTo("/search")],
  ]);
}
