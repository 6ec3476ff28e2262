// Printing: the note above the transcript names the events that are on the page.
import { byId } from "../dom.js";
import { findWindows } from "./scroll-position.js";

window.addEventListener("beforeprint", () => {
  const note = byId("printed-events");
  const windows = findWindows();
  if (!note || !windows.length) return;
  const lacksMore = (direction) => !document.querySelector(`#transcript > .load-more[data-direction=${direction}]`);
  const first = Math.min(...windows.map((window) => Number(window.dataset.first)));
  const last = Math.max(...windows.map((window) => Number(window.dataset.last)));
  const { entryCount } = byId("counts").dataset;
  note.textContent = `events ${first} to ${lacksMore("later") ? entryCount - 1 : last}`;
  note.toggleAttribute("data-all", lacksMore("earlier") && lacksMore("later"));
});
