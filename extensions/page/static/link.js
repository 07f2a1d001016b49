// @ts-check
// The permalink: what is looked at, in the address after `#`, by positions and numbers; no data of the plan.

/** Return the state that the page's address describes. @returns {Map<string, string>} */
export function readLink() {
  return new Map(new URLSearchParams(location.hash.slice(1)).entries());
}

/** Write the state of the view into the page's address; null removes an entry. @param {Record<string, string | number | null>} parts */
export function writeLink(parts) {
  const known = readLink();
  for (const [key, value] of Object.entries(parts)) {
    if (value === null) known.delete(key);
    else known.set(key, String(value));
  }
  const text = [...known].map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value).replaceAll("%2C", ",")}`).join("&");
  try {
    history.replaceState(history.state, "", text ? `#${text}` : "#");
  } catch {
    // A page within another one may have no address of its own.
  }
}

/** Return the job that the address names before `#`. @param {string} name */
export function addressed(name) {
  const found = new URLSearchParams(location.search).get(name);
  return found && /^[0-9a-f-]{36}$/.test(found) ? found : null;
}
