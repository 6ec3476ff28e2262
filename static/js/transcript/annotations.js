// Annotations of events: comments and bookmarks in place, and the steps to the next unresolved comment.
import { byId, findAll, on } from "../dom.js";
import { deleteDrafts, restoreDrafts } from "../drafts.js";
import { AUTOMATIC, fetchResponse } from "../requests.js";
import { announceWithToast, findCurrent, goTo } from "./navigation.js";
import { findFirstInView, keepPosition } from "./scroll-position.js";

const getPageUrl = () => byId("transcript").dataset.href;
const findItem = (anchor) => {
  const element = byId(anchor);
  return element && element.closest("#transcript > .window > *, #transcript .call-group > *");
};
const findBlock = (item) => {
  const next = item.nextElementSibling;
  return next && next.matches(".annotations") ? next : null;
};

const parse = (html) => document.createRange().createContextualFragment(html.trim());

// Replace the block below an item, or insert or remove it.
function showBlock(item, html) {
  const old = findBlock(item);
  const content = parse(html);
  const block = content.firstElementChild;
  keepPosition(() => {
    if (old && block) old.replaceWith(content);
    else if (old) old.remove();
    else if (block) item.after(content);
  });
  if (block) {
    htmx.process(block);
    restoreDrafts(block);
  }
  return block;
}
// Insert or remove the mark alone: a block in which a person writes stays.
function showMark(block, html) {
  const mark = parse(html).querySelector(".bookmark-mark");
  keepPosition(() => {
    for (const old of findAll(".bookmark-mark", block)) old.remove();
    if (mark) block.prepend(mark);
  });
}
async function request(path, options = {}) {
  const csrfToken = document.querySelector("meta[name=csrf-token]").content;
  const headers = { "HX-Request": "true", "X-CSRFToken": csrfToken, ...options.headers };
  return fetchResponse(`${getPageUrl()}/${path}`, { ...options, headers });
}
// One request at a time: what was read before a change is never shown after it.
let lastRequest = Promise.resolve();
function runInTurn(work) {
  const result = lastRequest.then(work);
  lastRequest = result.catch(() => {});
  return result;
}
const loadBlock = (anchor, query = "", headers = {}) => runInTurn(async () => {
  const response = await request(`comments/${anchor}${query}`, { headers });
  const item = findItem(anchor);
  if (!item || !response || !(response.ok || response.status === 404)) return null;
  const html = response.ok ? await response.text() : "";
  const block = findBlock(item);
  const isKept = query ? findDraft : isInUse;
  return block && isKept(block) ? block : showBlock(item, html);
});

// A block in which a person writes stays; what changed meanwhile is shown once they have sent it.
// A text that was refused is the field's default value.
const findDraft = (block) => findAll("textarea", block)
  .find((field) => field.value !== field.defaultValue || block.querySelector("[role=alert]"));
const isInUse = (block) => Boolean(findDraft(block)) || block.contains(document.activeElement);
const readBookmarks = () => (byId("bookmark-form").dataset.bookmarks || "").split(" ").filter(Boolean);

// Load the blocks that a window shown again lacks, and those whose comments changed.
let isUpdating = false;
let isUpdateWanted = false; // something changed while blocks were loaded
async function updateBlocks() {
  isUpdateWanted = isUpdating;
  if (isUpdating) return;
  const summaries = findAll("#comment-status [data-summary]");
  const stale = new Map();
  const note = (anchor, isShown) => {
    const item = findItem(anchor);
    if (item && !stale.has(item)) {
      const block = findBlock(item);
      if (!isShown(block) && !(block && isInUse(block))) stale.set(item, anchor);
    }
  };
  for (const { dataset: { summary, version } } of summaries) {
    note(summary, (block) => block && block.querySelector(`[data-thread="${summary}"][data-version="${version}"]`));
  }
  for (const anchor of readBookmarks()) note(anchor, (block) => block);
  const anchors = new Set(summaries.map(({ dataset }) => dataset.summary));
  for (const thread of findAll("#transcript [data-thread]")) {
    const { thread: anchor } = thread.dataset;
    if (!anchors.has(anchor)) note(anchor, () => false);
  }
  isUpdating = true;
  try {
    for (const anchor of stale.values()) await loadBlock(anchor, "", AUTOMATIC);
  } finally { isUpdating = false; }
  if (isUpdateWanted) await updateBlocks();
}

async function openForm(anchor) {
  const block = await loadBlock(anchor, "?form=1");
  const field = block && (findDraft(block) || block.querySelector(`#comment-form-${anchor} textarea`) || block.querySelector("textarea"));
  if (field) field.focus();
  else location.href = `${getPageUrl()}/comments/${anchor}`;
}

const toggleBookmark = (anchor) => runInTurn(async () => {
  const response = await request("bookmark", { method: "POST", body: new URLSearchParams({ anchor }) });
  if (!response || !response.ok) return announceWithToast("Not bookmarked. Try again.");
  const isSet = response.headers.get("X-Bookmarked") === "1";
  const html = await response.text();
  // No wait from here on: an update of blocks would load the one that the list has and the page lacks.
  const others = readBookmarks().filter((other) => other !== anchor);
  byId("bookmark-form").dataset.bookmarks = [...others, ...(isSet && anchor ? [anchor] : [])].join(" ");
  if (anchor) showBookmark(anchor, html);
  else document.querySelector(".bookmark-toggle").setAttribute("aria-pressed", String(isSet));
  return announceWithToast(isSet ? "Bookmarked." : "Bookmark removed.");
});
function showBookmark(anchor, html) {
  const item = findItem(anchor);
  const block = item && findBlock(item);
  if (block && findDraft(block)) showMark(block, html);
  else if (item) showBlock(item, html);
}

// Go to the next unresolved comment after the last one, in the order of the events.
let lastAnchor = "";
export async function goToNextComment() {
  const anchors = findAll("#comment-status [data-open]").map(({ dataset }) => dataset.summary);
  if (!anchors.length) return announceWithToast("No open comments.");
  lastAnchor = anchors[(anchors.indexOf(lastAnchor) + 1) % anchors.length];
  return goTo({ anchor: lastAnchor, item: lastAnchor });
}
const findChosen = () => findCurrent() || findFirstInView();
export const commentOnItem = () => { const item = findChosen(); return Boolean(item) && void openForm(item.id); };
export function bookmarkItem(event) {
  const item = findChosen();
  if (item && !event.repeat) toggleBookmark(item.id);
  return Boolean(item);
}
export const openNeighbour = (direction) => () => {
  const link = document.querySelector(`[data-neighbour=${direction}]`);
  if (link) link.click();
  return Boolean(link);
};

// Also on the page of an event's comments.
on("htmx:beforeSwap", (event) => {
  const { xhr, requestConfig } = event.detail;
  const form = requestConfig && requestConfig.elt.closest(".annotations form");
  if (form && xhr.status === 200) deleteDrafts(form);
});
for (const name of ["htmx:sendError", "htmx:timeout", "htmx:responseError"]) {
  on(name, (event) => {
    if (event.target.closest(".annotations form")) announceWithToast("Not saved. What you typed is still here. Reload the page, and try again.");
  });
}

// Other pages that show events submit their form of bookmarks.
if (byId("transcript")) {
  on("click", (event) => {
    const target = event.target.closest("a[data-comment], button[data-bookmark], [data-next-comment]");
    if (!target || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (target.matches("a[data-comment]") && !findItem(target.dataset.comment)) return;
    event.preventDefault();
    if (target.matches("[data-next-comment]")) goToNextComment();
    else if (target.matches("button")) toggleBookmark(target.value);
    else openForm(target.dataset.comment);
  });
  for (const name of ["htmx:wsAfterMessage", "htmx:afterSwap"]) on(name, () => updateBlocks());
  on("focusout", (event) => {
    if (event.target.closest(".annotations")) setTimeout(updateBlocks);
  });
  // The form that was sent is gone: its block gets the focus.
  on("htmx:load", (event) => {
    if (!event.target.matches(".annotations") || document.activeElement !== document.body) return;
    event.target.tabIndex = -1;
    event.target.focus({ preventScroll: true });
  });
}
