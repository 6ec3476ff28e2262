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

// Return the response from a page of this site; null where the server can't be reached, or where it
// leads to the sign-in page, which is no part of the page that asked.
export async function fetchResponse(url, options) {
  const response = await fetch(url, options).catch(() => null);
  return response && !response.redirected && !response.headers.has("HX-Redirect") ? response : null;
}
