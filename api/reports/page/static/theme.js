// @ts-check
// The colours of the page: as the system wants them, or switched by hand.

/** @type {Map<string, string>} */
const known = new Map();

/** A colour of the theme by its name. @param {string} name */
export function style(name) {
  const found = known.get(name) ?? getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  known.set(name, found);
  return found;
}

/** Tell when the colours change; returns what ends that. @param {() => void} changed */
export function onTheme(changed) {
  const query = matchMedia("(prefers-color-scheme: dark)");
  const run = () => {
    known.clear();
    changed();
  };
  query.addEventListener("change", run);
  document.addEventListener("memplan-theme", run);
  return () => {
    query.removeEventListener("change", run);
    document.removeEventListener("memplan-theme", run);
  };
}

/** Change from light to dark, or back. */
export function switchTheme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  known.clear();
  document.dispatchEvent(new Event("memplan-theme"));
}
