// Spans that go on: how long a card waits, and until when. Counted here from what the server said,
// so that a clock that is wrong does not matter. In no live region: nobody is read a clock.
import { all } from "./dom.js";

// As jpweb.web.display_text.span says it.
function span(seconds) {
  if (seconds < 60) return seconds >= 10 ? `${Math.floor(seconds / 10) * 10} s` : "< 10 s";
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  if (days) return `${days} d ${hours % 24} h`;
  return hours ? `${hours} h ${minutes % 60} min` : `${minutes} min`;
}

const begun = new WeakMap();
export function tick() {
  const now = Date.now();
  for (const shown of all("time[data-since], time[data-left]")) {
    if (!begun.has(shown)) begun.set(shown, now);
    const passed = Math.floor((now - begun.get(shown)) / 1000);
    const { since, left } = shown.dataset;
    const text = span(since === undefined ? Math.max(Number(left) - passed, 0) : Number(since) + passed);
    if (shown.textContent !== text) shown.textContent = text;
  }
}
setInterval(tick, 1000);
