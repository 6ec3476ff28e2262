// Copying a message, a tool call or a link; and the focus, when somebody asked for a whole text.
import { byId, on } from "./dom.js";

// The buttons are there only where this runs.
document.documentElement.classList.add("scripted");

async function fetched(address) {
  const reply = await fetch(address, { headers: { Accept: "text/plain, application/json" } });
  if (!reply.ok) throw new Error(reply.status);
  return reply.text();
}

// Without HTTPS there is no clipboard but that of a selection.
function select(text) {
  const field = document.createElement("textarea");
  field.className = "unseen";
  field.value = text;
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  if (!done) throw new Error("refused");
}

// The clipboard is asked at once, within the click, and given the text when it is there.
async function put(text) {
  if (navigator.clipboard && window.ClipboardItem) {
    const blob = text.then((whole) => new Blob([whole], { type: "text/plain" }));
    blob.catch(() => {}); // The clipboard may refuse before the text fails, and then nobody waits for it.
    await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
  } else select(await text);
}

const LONG_ENOUGH = 2000; // milliseconds
function tell(button, words, aloud) {
  button.dataset.label = button.dataset.label || button.textContent;
  button.textContent = words;
  byId("announcer").textContent = aloud;
  setTimeout(() => { button.textContent = button.dataset.label; }, LONG_ENOUGH);
}

on("click", async (event) => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  const { copy, copyLink, what } = button.dataset;
  const focused = document.activeElement;
  try {
    await put(copy ? fetched(copy) : Promise.resolve(new URL(copyLink, location.href).href));
    tell(button, "Copied", `${what} copied.`);
  } catch {
    tell(button, "Not copied", `${what} not copied. Try again, or select it.`);
  }
  if (document.activeElement === document.body && focused) focused.focus({ preventScroll: true });
});

// The link that asked for the rest is gone once the rest is there. It may come twice, since what is
// seen is coloured as well: the focus stays with the last, unless somebody took it elsewhere.
let asked = null;
const named = (payload) => `${payload.dataset.payload} ${payload.closest("[id]").id}`;
on("click", (event) => {
  const link = event.target.closest(".payload a[hx-get]");
  asked = link && named(link.closest(".payload"));
});
on("focusin", (event) => {
  if (!event.target.matches(".payload, .payload a[hx-get]")) asked = null;
});
on("htmx:load", (event) => {
  const payload = event.target.closest(".payload");
  if (asked && payload && named(payload) === asked) payload.focus({ preventScroll: true });
});
