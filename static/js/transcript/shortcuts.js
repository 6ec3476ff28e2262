// The keys of a reader.
import "./replace-window.js";
import "./follow-tail.js";
import "./outline.js";
import "./scroll-restoration.js";
import { close, find, finding, open } from "./find.js";
import { foldAll, unfoldAll } from "./folds.js";
import { keys } from "../keyboard.js";
import { byId } from "../dom.js";
import { firstInView } from "./scroll-position.js";
import { current, end, show, step, toggle } from "./navigation.js";

// As the buttons of an event do it.
function copyLink() {
  const item = current() || firstInView();
  if (!item) return false;
  const button = document.createElement("button");
  button.className = "copy told";
  button.dataset.copyLink = `${byId("transcript").dataset.href}?at=${item.id}#${item.id}`;
  button.dataset.what = "Link";
  show(button);
  button.click();
  return true;
}
function enter() {
  const item = current();
  return Boolean(item) && document.activeElement === item && toggle();
}

if (byId("transcript")) {
  keys("Conversation", [
    ["j", "Next event", () => step("item", 1)],
    ["k", "Previous event", () => step("item", -1)],
    ["J", "Next prompt", () => step("prompt", 1)],
    ["K", "Previous prompt", () => step("prompt", -1)],
    ["i", "Next question", () => step("inquiry", 1)],
    ["I", "Previous question", () => step("inquiry", -1)],
    ["e", "Next problem", () => step("problem", 1)],
    ["E", "Previous problem", () => step("problem", -1)],
    ["gg", "Beginning", () => end(-1)],
    ["G", "End", () => end(1)],
    ["o", "Expand/collapse", toggle],
    ["Enter", "Expand/collapse, when focused", enter],
    ["[", "Collapse all that is loaded", foldAll],
    ["]", "Expand all that is loaded", unfoldAll],
    ["l", "Copy link", copyLink],
    ["f /", "Find in the conversation", open],
    ["n", "Next match", () => finding() && void find("next")],
    ["N", "Previous match", () => finding() && void find("previous")],
    ["Escape", "Close find", close],
  ]);
}
