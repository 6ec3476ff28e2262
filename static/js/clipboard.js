// Copies a message, a tool call or a link; focuses a payload whose rest was requested.
import { announce, on } from "./dom.js";
import { fetchResponse } from "./requests.js";

// CSS shows the buttons only where this script runs.
document.documentElement.classList.add("scripted");

async function fetchText(url) {
  const response = await fetchResponse(url, { headers: { Accept: "text/plain, application/json" } });
  if (!response || !response.ok) throw new Error(`${url} was not loaded`);
  return response.text();
}

// Without HTTPS only a selection can be copied.
function copySelection(text) {
  const field = document.createElement("textarea");
  field.className = "visually-hidden";
  field.value = text;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (!isCopied) throw new Error("refused");
}

// The clipboard must be asked within the click, so it is given a promise of the text.
export async function copyText(textPromise) {
  if (navigator.clipboard && window.ClipboardItem) {
    const blob = textPromise.then((text) => new Blob([text], { type: "text/plain" }));
    blob.catch(() => {}); // handles the rejection where the clipboard refuses first
    await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
  } else copySelection(await textPromise);
}

const CONFIRMATION_TIME_MS = 2000;
function confirmCopy(button, label, announcement) {
  button.dataset.label = button.dataset.label || button.textContent;
  button.textContent = label;
  announce(announcement);
  setTimeout(() => { button.textContent = button.dataset.label; }, CONFIRMATION_TIME_MS);
}

on("click", async (event) => {
  const button = event.target.closest("button.copy-button");
  if (!button) return;
  const { copy, copyLink, subject } = button.dataset;
  const focused = document.activeElement;
  try {
    await copyText(copy ? fetchText(copy) : Promise.resolve(new URL(copyLink, location.href).href));
    confirmCopy(button, "Copied", `${subject} copied.`);
  } catch {
    confirmCopy(button, "Not copied", `${subject} not copied. Try again, or select it.`);
  }
  if (document.activeElement === document.body && focused) focused.focus({ preventScroll: true });
});

// The payload replaces the link that requested its rest, and may be loaded again with its syntax
// highlighted: the last one gets the focus, unless the person has moved it.
let requestedPayload = null;
const describePayload = (payload) => `${payload.dataset.payload} ${payload.closest("[id]").id}`;
on("click", (event) => {
  const link = event.target.closest(".payload a[hx-get]");
  requestedPayload = link && describePayload(link.closest(".payload"));
});
on("focusin", (event) => {
  if (!event.target.matches(".payload, .payload a[hx-get]")) requestedPayload = null;
});
on("htmx:load", (event) => {
  const payload = event.target.closest(".payload");
  if (requestedPayload && payload && describePayload(payload) === requestedPayload) payload.focus({ preventScroll: true });
});
