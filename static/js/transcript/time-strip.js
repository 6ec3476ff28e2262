// Fetches the strip of times above the transcript, and again once a run has begun or ended.
import { byId, on } from "../dom.js";
import { loadFragment, runSerially } from "../requests.js";

const readRun = () => (byId("composer") ? byId("composer").dataset.run : "");
let shownRun = null; // null until the first strip has come

// A request that was lost is made again after the next message or connection.
const updateStrip = runSerially(async () => {
  const strip = byId("time-strip");
  const run = readRun();
  if (!strip || !strip.dataset.href || run === shownRun) return;
  if (await loadFragment(strip.dataset.href, "#time-strip", "outerHTML", { selectOOB: "#model" })) shownRun = run;
});
for (const name of ["htmx:wsAfterMessage", "jpweb:connected"]) on(name, updateStrip);
updateStrip();
