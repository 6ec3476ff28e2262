// The browser downloads a file itself; the page asks the server for the progress of a large one.
import { byId, on } from "./dom.js";
import { AUTOMATIC } from "./requests.js";

// An event's links stand in long pages, so the progress is shown below the one that was pressed.
function placeStatus(link) {
  const footnote = link.closest(".payload .footnote");
  const earlier = byId("download");
  if (!footnote) {
    if (earlier && earlier.closest(".payload")) link.parentElement.append(earlier);
    return;
  }
  const status = earlier || document.createElement("div");
  footnote.after(status);
  if (earlier) return;
  Object.assign(status, { id: "download", className: "download" });
  const attributes = { get: link.dataset.statusUrl, trigger: "begin delay:1s", headers: JSON.stringify(AUTOMATIC), swap: "outerHTML" };
  for (const [name, value] of Object.entries(attributes)) status.setAttribute(`hx-${name}`, value);
  htmx.process(status);
}

on("click", (event) => {
  const link = event.target.closest(".download-link");
  if (!link) return;
  placeStatus(link);
  htmx.trigger("#download", "begin");
});
