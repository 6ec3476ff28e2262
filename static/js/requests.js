// Requests of scripts.

// Return the response from a page of this site; null where the server can't be reached, or where it
// leads to the sign-in page, which is no part of the page that asked.
export async function fetchResponse(url, options) {
  const response = await fetch(url, options).catch(() => null);
  return response && !response.redirected && !response.headers.has("HX-Redirect") ? response : null;
}
