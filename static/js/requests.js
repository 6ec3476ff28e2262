// Requests of scripts.
import { on } from "./dom.js";

// The header of requests that no act of a person caused: they keep no sign-in alive.
export const AUTOMATIC = { "X-Automatic": "1" };

// What comes into view loads itself, also where the page follows the end of a turn; so does what a
// script opens.
on("htmx:configRequest", ({ target, detail: { triggeringEvent, headers } }) => {
  const isInView = triggeringEvent && triggeringEvent.type === "intersect";
  if (isInView || target.matches("[data-reopened]")) Object.assign(headers, AUTOMATIC);
});

// Return the response from a page of this site; null where the server can't be reached or stops before
// the last byte, or where it leads to the sign-in page, which is no part of the page that asked.
export async function fetchResponse(url, options) {
  const response = await fetch(url, options).then(readWhole).catch(() => null);
  return response && !response.redirected && !response.headers.has("HX-Redirect") ? response : null;
}
// The copy's bytes are dropped; once it is read, the response has all of its own.
async function readWhole(response) {
  await response.clone().arrayBuffer();
  return response;
}

// Have htmx make a request that a person asked for. A lost one is shown by listeners of htmx:sendError;
// the promise that it rejects besides has nothing to add.
export const requestFragment = (...options) => htmx.ajax(...options).catch(() => {});

// Swap in a fragment that no act of a person asked for. Return the response, or null. Where htmx fetches
// it, each failure is an error on the console, and a promise rejected without a handler.
export async function loadFragment(url, target, swapStyle, options) {
  const response = await fetchResponse(url, { headers: { "HX-Request": "true", ...AUTOMATIC } });
  if (!response || !response.ok) return response;
  htmx.swap(target, await response.text(), { swapStyle, swapDelay: 0, settleDelay: 0, ignoreTitle: true }, options);
  return response;
}

// Return a function that does the work, once at a time. Calls meanwhile have it done once more.
export function runSerially(work) {
  let isRunning = false;
  let isWanted = false;
  return async () => {
    isWanted = true;
    if (isRunning) return;
    isRunning = true;
    try {
      while (isWanted) {
        isWanted = false;
        await work();
      }
    } finally { isRunning = false; }
  };
}
