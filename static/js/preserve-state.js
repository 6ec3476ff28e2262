// What is replaced stays as somebody left it: what is unfolded, what is marked, where the focus is.
import { WRITING, all, byId, on } from "./dom.js";

const justSettled = (before, after) =>
  before.dataset.outcome === "open" && after.dataset.outcome !== "open" &&
  !before.contains(document.activeElement);
function alike(root) {
  for (const fresh of [root, ...all("[id]", root)]) {
    const old = fresh.id && byId(fresh.id);
    if (!old) continue;
    if (fresh.matches("details") && !justSettled(old, fresh)) fresh.open = old.open;
    if (old.matches("#transcript [aria-current]")) fresh.setAttribute("aria-current", old.getAttribute("aria-current"));
  }
}

// What has the focus in something that is to go: a link by where it leads, else the nearest that
// has an id, which of a fold is its summary.
let held = null;
function hold(old) {
  const focused = document.activeElement;
  if (!old.contains(focused)) return;
  const named = focused.closest("[id]");
  const { selectionStart: from, selectionEnd: to } = focused;
  held = old.contains(named) ? { id: named.id, href: focused.getAttribute("href"), from, to } : null;
}
function giveBack() {
  const named = held && byId(held.id);
  const { href, from, to } = held || {};
  held = null;
  if (!named || (document.activeElement && document.activeElement !== document.body)) return;
  const link = href && all("a[href]", named).find((each) => each.getAttribute("href") === href);
  const place = link || (named.matches("details") ? named.querySelector("summary") : named);
  if (place.tabIndex < 0) place.tabIndex = -1;
  place.focus({ preventScroll: true });
  if (place.matches("textarea") && from !== undefined) place.setSelectionRange(from, to);
}

// Put something newer in the place of what it is a newer state of.
export function renew(old, fresh) {
  alike(fresh);
  if (old.isEqualNode(fresh)) return;
  hold(old);
  htmx.swap(old, fresh.outerHTML, { swapStyle: "outerHTML", swapDelay: 0, settleDelay: 0 });
  giveBack();
}

// Whoever types into what is taken away types on for a while, and means no keys of the page.
let written = null;
function lookUp() {
  const field = written;
  written = null;
  if (!field || field.isConnected || (document.activeElement && document.activeElement !== document.body)) return;
  document.dispatchEvent(new CustomEvent("jpweb:unwritten"));
  if (field.dataset.draft) byId("announcer").textContent = "The field went away. What you typed is kept, and comes back with it.";
}

on("htmx:oobBeforeSwap", (event) => {
  const { target, fragment } = event.detail;
  const focused = document.activeElement;
  if (target.contains(focused) && focused.matches(WRITING)) written = focused;
  if (!fragment.children) return;
  for (const each of [fragment, ...fragment.children]) if (each.matches) alike(each);
  if (target.matches("#transcript *, #kinds, #foot") && target.id !== "tail") hold(target);
});
on("htmx:wsAfterMessage", () => {
  giveBack();
  lookUp();
});
