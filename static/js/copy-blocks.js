// A button in each block of code, and beside a one-time link, that copies it. Its label is drawn by
// CSS, so that it is no text of the block.
import { copyText } from "./clipboard.js";
import { announce, findAll, on } from "./dom.js";

const BLOCKS = "main :is(.prose pre, .payload pre, .one-time-link)";
const CONFIRMATION_TIME_MS = 2000;
const LABELS = { copy: "Copy", done: "Copied", failed: "Not copied" };

function addButton(block) {
  if (block.querySelector(":scope > .copy-block")) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy-button copy-block";
  button.dataset.label = LABELS.copy;
  button.setAttribute("aria-label", block.matches(".one-time-link") ? "Copy this link" : "Copy this block");
  block.append(button);
}
const addButtons = (root) => findAll(BLOCKS, root).forEach(addButton);

on("click", async (event) => {
  const button = event.target.closest && event.target.closest(".copy-block");
  if (!button) return;
  event.stopImmediatePropagation();
  let result = "done";
  try { await copyText(Promise.resolve(button.parentElement.textContent)); } catch { result = "failed"; }
  button.dataset.label = LABELS[result];
  announce(result === "done" ? "Block copied." : "Block not copied. Try again, or select it.");
  setTimeout(() => { button.dataset.label = LABELS.copy; }, CONFIRMATION_TIME_MS);
}, true);

on("DOMContentLoaded", () => addButtons(document));
on("htmx:load", (event) => addButtons(event.target));
