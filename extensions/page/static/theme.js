// @ts-check
// The colours of the page: as the system wants them, or switched by hand.

/** @type {Map<string, string>} */
const known = new Map();

/** Return a colour of the theme by its name. @param {string} name */
export function style(name) {
  const found = known.get(name) ?? getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  known.set(name, found);
  return found;
}

/** Call a function whenever the theme's colours change. @param {() => void} changed @param {AbortSignal} signal */
export function onTheme(changed, signal) {
  const run = () => {
    known.clear();
    changed();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", run, { signal });
  document.addEventListener("memplan-theme", run, { signal });
}

/** Switch between the light and the dark theme. */
export function switchTheme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  document.dispatchEvent(new Event("memplan-theme"));
}
