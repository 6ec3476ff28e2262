// Keeps a card's waiting time and its time until expiry current. They are counted from what the
// server rendered, so a wrong clock does no harm; no live region holds them.
import { findAll } from "./dom.js";

// As jpweb.web.display_text.format_elapsed.
function formatElapsed(seconds) {
  if (seconds < 60) return seconds >= 10 ? `${Math.floor(seconds / 10) * 10} s` : "< 10 s";
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  if (days) return `${days} d ${hours % 24} h`;
  return hours ? `${hours} h ${minutes % 60} min` : `${minutes} min`;
}

const startTimes = new WeakMap();
export function updateTimes() {
  const now = Date.now();
  for (const element of findAll("time[data-waiting-seconds], time[data-remaining-seconds]")) {
    if (!startTimes.has(element)) startTimes.set(element, now);
    const passed = Math.floor((now - startTimes.get(element)) / 1000);
    const { waitingSeconds, remainingSeconds } = element.dataset;
    const seconds = waitingSeconds === undefined
      ? Math.max(Number(remainingSeconds) - passed, 0)
      : Number(waitingSeconds) + passed;
    const text = formatElapsed(seconds);
    if (element.textContent !== text) element.textContent = text;
  }
}
setInterval(updateTimes, 1000);
