// Keyboard shortcuts of reviewing: the next item of the queue, starting a review, and its verdict.
import { findAll } from "./dom.js";
import { bindKeys, REVIEW_TITLE } from "./keyboard.js";

function press(selector) {
  const button = document.querySelector(selector);
  if (!button) return false;
  button.click();
}
function chooseVerdict(number) {
  const option = findAll("[data-review] input[type=radio]")[number - 1];
  if (!option) return false;
  option.checked = true;
  option.focus();
}

const rows = [];
if (document.querySelector("[data-review-next]")) rows.push(["n", "Skip to the next", () => press("[data-review-next]")]);
if (document.querySelector("[data-review-start]")) rows.push(["r", "Start or change your review", () => press("[data-review-start]")]);
const options = findAll("[data-review] input[type=radio]");
options.forEach((option, index) => {
  const label = option.parentElement.querySelector("span").firstChild.textContent.trim();
  rows.push([String(index + 1), label, () => chooseVerdict(index + 1)]);
});
if (rows.length) bindKeys(REVIEW_TITLE, rows);
// Once the browser has gone to the part that the address names, which takes the focus.
addEventListener("load", () => {
  document.querySelector("[data-review] fieldset[aria-describedby] input, [data-review] [aria-invalid]")?.focus();
});
