// Fetches the strip of times above the transcript again once a run has begun or ended.
import { byId, on } from "../dom.js";
import { AUTOMATIC } from "../requests.js";

const readRun = () => (byId("composer") ? byId("composer").dataset.run : "");
let shownRun = readRun();

on("htmx:wsAfterMessage", () => {
  const strip = byId("time-strip");
  if (!strip || !strip.dataset.href || readRun() === shownRun) return;
  shownRun = readRun();
  htmx.ajax("GET", strip.dataset.href, {
    target: "#time-strip", swap: "outerHTML", selectOOB: "#model", headers: AUTOMATIC,
  });
});
