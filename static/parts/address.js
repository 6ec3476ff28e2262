// The address of the page: it says what the page shows, so that a copy shows the same.

export const says = (name) => new URLSearchParams(location.search).get(name) || "";

// The address with some of what it says changed; what is empty does not stand in it.
export function changed(changes, hash = location.hash) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString().replaceAll("%2C", ",");
  return location.pathname + (text && `?${text}`) + hash;
}

// A browser that was asked too often refuses; the address is right again the next time.
export function restate(changes, hash = location.hash) {
  try { history.replaceState(history.state, "", changed(changes, hash)); } catch { /* next time */ }
}
