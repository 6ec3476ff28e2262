// Keyboard shortcuts of a conversation.
import "./replace-window.js";
import "./follow-tail.js";
import "./outline.js";
import "./scroll-restoration.js";
import { byId } from "../dom.js";
import { bindKeys } from "../keyboard.js";
import { bookmarkItem, commentOnItem, goToNextComment, openNeighbour } from "./annotations.js";
import { closeFind, findMatch, isFinding, openFind } from "./find.js";
import { collapseAll, expandAll } from "./folds.js";
import { findCurrent, goToEnd, showToast, stepTo, toggleFold } from "./navigation.js";
import { findFirstInView } from "./scroll-position.js";

// Copy the current item's link by a button like those of events (clipboard.js).
function copyLink() {
  const item = findCurrent() || findFirstInView();
  if (!item) return false;
  const button = document.createElement("button");
  button.className = "copy-button toast";
  button.dataset.copyLink = `${byId("transcript").dataset.href}?at=${item.id}#${item.id}`;
  button.dataset.subject = "Link";
  showToast(button);
  button.click();
  return true;
}
function toggleFocused() {
  const item = findCurrent();
  return Boolean(item) && document.activeElement === item && toggleFold();
}

if (byId("transcript")) {
  bindKeys("Conversation", [
    ["j", "Next event", () => stepTo("item", 1)],
    ["k", "Previous event", () => stepTo("item", -1)],
    ["J", "Next prompt", () => stepTo("prompt", 1)],
    ["K", "Previous prompt", () => stepTo("prompt", -1)],
    ["i", "Next question", () => stepTo("inquiry", 1)],
    ["I", "Previous question", () => stepTo("inquiry", -1)],
    ["e", "Next problem", () => stepTo("problem", 1)],
    ["E", "Previous problem", () => stepTo("problem", -1)],
    ["gg", "Beginning", () => goToEnd(-1)],
    ["G", "End", () => goToEnd(1)],
    ["o", "Expand/collapse", toggleFold],
    ["Enter", "Expand/collapse, when focused", toggleFocused],
    ["[", "Collapse all that is loaded", collapseAll],
    ["]", "Expand all that is loaded", expandAll],
    ["l", "Copy link", copyLink],
    ["c", "Comment", commentOnItem],
    ["C", "Next unresolved comment", () => void goToNextComment()],
    ["b", "Bookmark", bookmarkItem],
    ["<", "Previous conversation", openNeighbour("previous")],
    [">", "Next conversation", openNeighbour("next")],
    ["f /", "Find in conversation", openFind],
    ["n", "Next match", () => isFinding() && void findMatch("next")],
    ["N", "Previous match", () => isFinding() && void findMatch("previous")],
    ["Escape", "Close find", closeFind],
  ]);
}
