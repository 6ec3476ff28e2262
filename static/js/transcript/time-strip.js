// Fetches the strip of times above the transcript, and again once a run has begun or ended, or events
// have come without one: jp writes its file after each step at most.
import { byId, on } from "../dom.js";
import { loadFragment, runSerially } from "../requests.js";
import { hasActiveRun } from "./follow-tail.js";

function readState() {
  const { run } = byId("composer").dataset;
  const { revision, entryCount } = byId("counts").dataset;
  return hasActiveRun() ? run : `${run} ${revision} ${entryCount}`;
}
let shownState = null; // null until the first strip has come

// A request that was lost is made again after the next message or connection.
const updateStrip = runSerially(async () => {
  const strip = byId("time-strip");
  if (!strip || !strip.dataset.href) return;
  const state = readState();
  if (state === shownState) return;
  if (await loadFragment(strip.dataset.href, "#time-strip", "outerHTML", { selectOOB: "#model" })) shownState = state;
});
for (const name of ["htmx:wsAfterMessage", "jpweb:connected"]) on(name, updateStrip);
updateStrip();
